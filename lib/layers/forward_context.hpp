#pragma once

#include "kernels/execution.hpp"
#include "kernels/token_rows.hpp"
#include "layers/activations.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/cache/step.hpp>

#include <cstdint>
#include <span>

namespace cogen::layers {

/// What all blocks of one forward share: how kernels run, which slots get which tokens, what is remembered.
struct forward_context {
  kernels::execution run;
  const cache::step& step;
  cache::cache& memory;                 // room for the step is reserved; lengths are those before it
  std::span<kernels::token_rows> rows;  // [step.rows()], without views: an attention block sets those of its layer
  arena& space;

  /// The same pass with activations that no product rounds, for what decides: a rounded router chooses another expert,
  /// and a rounded decay stays wrong for all tokens to come.
  forward_context exact() const {
    forward_context unrounded = *this;
    unrounded.run.mode = compute_type::float32;
    return unrounded;
  }

  /// Positions that the step's rows reach, the largest of them.
  std::int64_t reach() const {
    std::int64_t reach = 0;
    for (const auto& row : rows) reach = std::max(reach, row.offset + row.count);
    return reach;
  }
};

}  // namespace cogen::layers
