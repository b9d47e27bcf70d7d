#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cogen {

/// `per_block` bytes for each of the first `blocks` blocks, which no other slot ever shares: a ring's memory.
struct capped_term {
  std::int64_t per_block = 0;
  std::int64_t blocks = 0;
};

/// An upper bound of the bytes of a KV-cache slot that holds `length` tokens, in whole pages: with
/// b = ceil(length / block), `fixed + per_block * b` plus the sum of capped.per_block * min(b, capped.blocks). 0 for an
/// empty slot. A cache states it, and a scheduler reserves by it.
struct slot_footprint {
  std::int64_t fixed = 0;
  std::int64_t per_block = 0;
  int block = 64;  ///< tokens
  std::vector<capped_term> capped = {};

  std::int64_t operator()(std::int64_t length) const {
    if (length == 0) return 0;
    const std::int64_t blocks = (length + block - 1) / block;
    std::int64_t bytes = fixed + per_block * blocks;
    for (const capped_term& term : capped) bytes += term.per_block * std::min(blocks, term.blocks);
    return bytes;
  }

  slot_footprint& operator+=(const slot_footprint& other) {
    fixed += other.fixed;
    per_block += other.per_block;
    capped.insert(capped.end(), other.capped.begin(), other.capped.end());
    return *this;
  }
};

}  // namespace cogen
