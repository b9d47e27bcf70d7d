#include "block_layout.hpp"

#include "address_range.hpp"

#include <cstring>

namespace cogen::cache {
namespace {

template <class PartOf>
block_layout lay_out_each(std::span<const layer_shape> shapes, PartOf part_of) {
  block_layout layout;
  std::int64_t end = 0;
  for (const layer_shape& shape : shapes) {
    block_part part = part_of(shape);
    part.offset = end;
    part.kv_heads = shape.kv_heads;
    part.value_offset = part.head_stride * shape.kv_heads;
    end += part.value_offset + part.value_head_stride * shape.kv_heads;
    layout.parts.push_back(part);
  }
  layout.stride = whole_pages(end);
  return layout;
}

}  // namespace

block_layout lay_out(std::span<const layer_shape> shapes, scalar type) {
  return lay_out_each(shapes, [&](const layer_shape& shape) {
    block_part part{.token_stride = std::int64_t{shape.head_dim} * bytes_of(type)};
    part.head_stride = part.value_head_stride = part.token_stride * block_tokens;
    return part;
  });
}

block_layout lay_out(std::span<const layer_shape> shapes, const codec& keys, const codec& values) {
  return lay_out_each(shapes, [&](const layer_shape& shape) {
    return block_part{.head_stride = keys.packed_bytes(shape.head_dim),
                      .value_head_stride = values.packed_bytes(shape.head_dim)};
  });
}

void append_block(std::vector<exported_run>& runs, const block_layout& layout, scalar type) {
  std::int64_t end = 0;
  for (const block_part& part : layout.parts) {
    const std::int64_t bytes = 2 * part.value_offset;
    append(runs, {.bytes = bytes, .type = type, .dims = static_cast<int>(part.token_stride / bytes_of(type))});
    end += bytes;
  }
  append(runs, {.bytes = layout.stride - end});
}

void copy_tokens(const block_layout& layout, const std::byte* from, std::byte* to, int begin, int end) {
  for (const block_part& part : layout.parts)
    for (int plane = 0; plane < 2 * part.kv_heads; ++plane) {
      const std::int64_t at = part.offset + plane * part.head_stride + begin * part.token_stride;
      std::memcpy(to + at, from + at, static_cast<std::size_t>((end - begin) * part.token_stride));
    }
}

}  // namespace cogen::cache
