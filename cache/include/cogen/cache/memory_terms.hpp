#pragma once

#include <cogen/cache/view.hpp>

#include <cstdint>

namespace cogen::cache {

/// The most bytes that a slot holding `length` tokens takes, whole pages included: `fixed + per_block * ceil(length /
/// block)`. Plain numbers, so that whoever decides about memory needs nothing else of the cache.
struct memory_terms {
  std::int64_t fixed = 0;
  std::int64_t per_block = 0;
  int block = block_tokens;

  std::int64_t operator()(std::int64_t length) const { return fixed + per_block * ((length + block - 1) / block); }
};

}  // namespace cogen::cache
