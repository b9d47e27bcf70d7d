#pragma once

#include <cogen/detail/cache/view.hpp>

#include <cstdint>

namespace cogen::kernels {

/// The new tokens of one sequence in this step: tokens [first, first + count) of the step, at positions
/// [offset, offset + count) of the sequence, whose keys and values lie (or will lie) in `cache`.
///
/// The cache's ranges cover those positions of [0, offset + count) that the tokens see, and the new ones; where the
/// view is not causal, its ranges hold all keys that there are. Where a layer keeps a state instead, `initial_state` is
/// the one that the step begins with, and all of `final_state` is written.
struct token_rows {
  cache::kv_view cache = {};
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;
  const float* initial_state = nullptr;
  float* final_state = nullptr;  // may be `initial_state`
};

}  // namespace cogen::kernels
