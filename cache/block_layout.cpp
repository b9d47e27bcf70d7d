#include "block_layout.hpp"

#include "address_range.hpp"

namespace cogen::cache {
namespace {

block_part part_at(std::int64_t offset, const layer_shape& shape, scalar type) {
  block_part part{.offset = offset, .kv_heads = shape.kv_heads};
  part.token_stride = std::int64_t{shape.head_dim} * bytes_of(type);
  part.head_stride = part.token_stride * block_tokens;
  part.value_offset = part.head_stride * shape.kv_heads;
  return part;
}

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

}  // namespace

block_layout lay_out(std::span<const layer_shape> shapes, scalar type) {
  block_layout layout;
  std::int64_t end = 0;
  for (const layer_shape& shape : shapes) {
    layout.parts.push_back(part_at(end, shape, type));
    end += 2 * layout.parts.back().value_offset;
  }
  layout.stride = whole_pages(end);
  return layout;
}

}  // namespace cogen::cache
