#pragma once

#include <cstdint>
#include <limits>

// C++17, for the sources of XGrammar.
namespace cogen::grammar {

/// Steps that this thread takes on a grammar before check_steps() is called again: without a bounded_work, all.
inline thread_local std::int64_t steps_left = std::numeric_limits<std::int64_t>::max();

/// Throws what says which bound is exceeded, or grants further steps.
void check_steps();

/// Counts a step. Always false.
inline bool count_step() {
  if (--steps_left < 0) check_steps();
  return false;
}

inline void count_steps(std::uint64_t steps) {
  constexpr std::uint64_t max = std::numeric_limits<std::int32_t>::max();
  steps_left -= static_cast<std::int64_t>(steps < max ? steps : max);
  if (steps_left < 0) check_steps();
}

}  // namespace cogen::grammar
