#include "packing.hpp"

#include "view_tensors.hpp"

#include <cogen/cache/codec.hpp>

namespace cogen::cache {
namespace {

/// tokens [kv_heads, 64, head_dim]
void pack_heads(const codec& codec, const at::Tensor& tokens, std::byte* into, std::int64_t bytes) {
  const at::Tensor values = tokens.to(at::kFloat).contiguous();
  const std::int64_t heads = values.size(0), head_dim = values.size(2);
  for (std::int64_t head = 0; head < heads; ++head)
    codec.pack(values.const_data_ptr<float>() + head * block_tokens * head_dim, static_cast<int>(head_dim),
               into + head * bytes);
}

}  // namespace

due_blocks blocks_due(const packed_view& packed, std::int64_t length, std::int64_t count) {
  if (packed.keys.how == nullptr) return {0, 0};
  return {packed_tokens(length, packed.residual) / block_tokens,
          packed_tokens(length + count, packed.residual) / block_tokens};
}

void pack_due(const kv_view& view, std::int64_t length, std::int64_t count) {
  const packed_view& packed = view.packed;
  const due_blocks due = blocks_due(packed, length, count);
  for (std::int64_t number = due.begin; number < due.end; ++number) {
    const int begin = static_cast<int>(number) * block_tokens;
    const keys_values tokens = read_tokens(view, begin, begin + block_tokens);
    std::byte* block = packed.block(number);
    pack_heads(*packed.keys.how, tokens.k, block, packed.key_bytes);
    pack_heads(*packed.values.how, tokens.v, block + packed.value_offset, packed.value_bytes);
  }
}

}  // namespace cogen::cache
