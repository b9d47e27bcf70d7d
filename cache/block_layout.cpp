#include "block_layout.hpp"

#include "address_range.hpp"

#include <cstring>

namespace cogen::cache {
namespace {

template <class PartOf>
block_layout lay_out_each(std::span<const kv_cache_spec> shapes, PartOf part_of) {
  block_layout layout;
  std::int64_t end = 0;
  for (const kv_cache_spec& shape : shapes) {
    block_part part = part_of(shape);
    part.offset = end;
    part.kv_heads = shape.kv_heads;
    part.head_dim = shape.head_dim;
    part.value_offset = part.head_stride * shape.kv_heads;
    end += part.value_offset + part.value_head_stride * shape.kv_heads;
    layout.parts.push_back(part);
  }
  layout.stride = whole_pages(end);
  return layout;
}

void copy_bytes(const std::byte* source, std::byte* target, std::int64_t offset, std::int64_t bytes) {
  std::memcpy(target + offset, source + offset, static_cast<std::size_t>(bytes));
}

}  // namespace

block_layout lay_out(std::span<const kv_cache_spec> shapes, scalar type) {
  return lay_out_each(shapes, [&](const kv_cache_spec& shape) {
    const std::int64_t bytes = std::int64_t{block_tokens} * shape.head_dim * bytes_of(type);
    return block_part{.head_stride = bytes, .value_head_stride = shape.latent_dim > 0 ? 0 : bytes};
  });
}

block_layout lay_out(std::span<const kv_cache_spec> shapes, const codec& keys, const codec& values) {
  return lay_out_each(shapes, [&](const kv_cache_spec& shape) {
    return block_part{.head_stride = keys.quantized_bytes(shape.head_dim),
                      .value_head_stride = shape.latent_dim > 0 ? 0 : values.quantized_bytes(shape.head_dim)};
  });
}

void append_block(std::vector<exported_run>& runs, const block_layout& layout, scalar type, int tokens) {
  std::int64_t end = 0;
  for (const block_part& part : layout.parts) {
    append(runs, {.bytes = part.value_offset, .type = type, .dims = block_tokens, .unused = block_tokens - tokens});
    const std::int64_t values = part.value_head_stride * part.kv_heads;
    append(runs, {.bytes = values, .type = type, .dims = part.head_dim});
    end += part.value_offset + values;
  }
  append(runs, {.bytes = layout.stride - end});
}

void copy_tokens(const block_layout& layout, const std::byte* source, std::byte* target, int begin, int end) {
  for (const block_part& part : layout.parts) {
    const std::int64_t row = part.head_stride / part.head_dim;  // one dimension of all tokens' keys
    const std::int64_t number = row / block_tokens, token = number * part.head_dim;
    for (std::int64_t dim = 0; dim < std::int64_t{part.kv_heads} * part.head_dim; ++dim)
      copy_bytes(source, target, part.offset + dim * row + begin * number, (end - begin) * number);
    for (int head = 0; head < part.kv_heads && part.value_head_stride > 0; ++head)
      copy_bytes(source, target, part.offset + part.value_offset + head * part.value_head_stride + begin * token,
                 (end - begin) * token);
  }
}

}  // namespace cogen::cache
