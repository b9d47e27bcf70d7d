#pragma once

#include "network/backend/cpu/activations.hpp"
#include "network/kernels/execution.hpp"
#include "network/kernels/token_rows.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/detail/cache/step.hpp>

#include <cstdint>
#include <span>

namespace cogen::parallel {
class rank_group;
}

namespace cogen::cpu {

/// What all blocks of one forward share: kernel options, the slots' new tokens, the cache.
struct forward_context {
  kernels::execution run;
  const cache::step& step;
  cache::cache& memory;                 // room for the step is reserved; lengths are those before it
  std::span<kernels::token_rows> rows;  // [step.rows()], without views: an attention block sets those of its layer
  std::span<kernels::token_rows> state_rows;  // [step.rows()], for what a recurrent block runs
  arena& space;

  parallel::rank_group* ranks = nullptr;  // that split the layers; null: there is no other

  /// Rows are whole texts, which an encoder reads: all layers use the only one of `memory`, with spans of their own.
  bool encodes = false;
  std::span<const int> seconds = {};  // [step.rows()], of pairs of texts: the tokens of each first one; or none

  /// The same context without rounded activations, for decisions: a rounded router chooses another expert, and a
  /// rounded decay stays wrong for all later tokens.
  forward_context exact() const {
    forward_context unrounded = *this;
    unrounded.run.mode = compute_type::float32;
    return unrounded;
  }

  /// The largest end position of the step's rows.
  std::int64_t reach() const {
    std::int64_t reach = 0;
    for (const auto& row : rows) reach = std::max(reach, row.offset + row.count);
    return reach;
  }
};

}  // namespace cogen::cpu
