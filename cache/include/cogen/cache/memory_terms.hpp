#pragma once

#include <cogen/cache/view.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cogen::cache {

/// `per_block` bytes for each of the first `blocks` blocks: a ring's memory.
struct capped_term {
  std::int64_t per_block = 0;
  std::int64_t blocks = 0;
};

/// An upper bound of the bytes of a slot that holds `length` tokens, in whole pages: with b = ceil(length / block),
/// `fixed` (0 for an empty slot) + per_block * b + the sum of capped.per_block * min(b, capped.blocks). Plain numbers,
/// so that a scheduler needs nothing else of the cache.
struct memory_terms {
  std::int64_t fixed = 0;
  std::int64_t per_block = 0;
  int block = block_tokens;
  std::vector<capped_term> capped = {};

  std::int64_t operator()(std::int64_t length) const {
    if (length == 0) return 0;
    const std::int64_t blocks = (length + block - 1) / block;
    std::int64_t bytes = fixed + per_block * blocks;
    for (const capped_term& term : capped) bytes += term.per_block * std::min(blocks, term.blocks);
    return bytes;
  }

  memory_terms& operator+=(const memory_terms& other) {
    fixed += other.fixed;
    per_block += other.per_block;
    capped.insert(capped.end(), other.capped.begin(), other.capped.end());
    return *this;
  }
};

}  // namespace cogen::cache
