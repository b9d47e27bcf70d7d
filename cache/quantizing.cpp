#include "quantizing.hpp"

#include "view_rows.hpp"

#include <cogen/extend/kv_codec.hpp>

namespace cogen::cache {
namespace {

/// tokens [kv_heads, 64, head_dim], head after head
void quantize_heads(const codec& codec, const head_rows& tokens, std::byte* output, std::int64_t bytes) {
  for (int head = 0; head < tokens.heads; ++head)
    codec.quantize(tokens.row(head, 0), tokens.dims, output + head * bytes);
}

}  // namespace

due_blocks blocks_due(const quantized_view& quantized, std::int64_t length, std::int64_t count) {
  if (quantized.keys.quantizer == nullptr) return {0, 0};
  return {quantized_tokens(length, quantized.residual) / block_tokens,
          quantized_tokens(length + count, quantized.residual) / block_tokens};
}

void quantize_due(const kv_view& view, std::int64_t length, std::int64_t count) {
  const quantized_view& quantized = view.quantized;
  const due_blocks due = blocks_due(quantized, length, count);
  for (std::int64_t number = due.begin; number < due.end; ++number) {
    const int begin = static_cast<int>(number) * block_tokens;
    const keys_values tokens = read_tokens(view, begin, begin + block_tokens);
    std::byte* block = quantized.block(number);
    quantize_heads(*quantized.keys.quantizer, tokens.k, block, quantized.key_bytes);
    if (view.latent_dim == 0)
      quantize_heads(*quantized.values.quantizer, tokens.v, block + quantized.value_offset, quantized.value_bytes);
  }
}

}  // namespace cogen::cache
