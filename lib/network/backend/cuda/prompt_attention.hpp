#pragma once

#include "network/backend/operators.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace cogen::device {

/// Whether prompts are attended to one after the other, so that flash attention splits their keys: it has a thread
/// block for each head and 64 queries, two to a multiprocessor, and splits where those of a call take less than four
/// fifths of the device; of several prompts in one call it splits none. All of them together must leave that much
/// unused, and one must hold enough to split.
inline bool splits_over_keys(std::span<const prompt_row> prompts, std::int64_t heads, int multiprocessors) {
  constexpr std::int64_t queries = 64, min_keys = 512;
  std::int64_t blocks = 0, reach = 0;
  for (const auto& prompt : prompts) {
    blocks += heads * ((prompt.count + queries - 1) / queries);
    reach = std::max(reach, prompt.held + prompt.count);
  }
  return reach >= min_keys && 5 * blocks < 4 * 2 * multiprocessors;
}

}  // namespace cogen::device
