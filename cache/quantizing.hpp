#pragma once

#include <cogen/detail/cache/view.hpp>

namespace cogen::cache {

/// The blocks to quantize when a slot of `length` tokens gets `count` more: [begin, end) by number.
struct due_blocks {
  std::int64_t begin;
  std::int64_t end;
};
due_blocks blocks_due(const quantized_view& quantized, std::int64_t length, std::int64_t count);

/// Quantizes the blocks that are due, from the view's tokens in full precision. Does nothing for other views.
void quantize_due(const kv_view& view, std::int64_t length, std::int64_t count);

}  // namespace cogen::cache
