#pragma once

#include <cogen/extend/kv_codec.hpp>

#include <cstring>

namespace cogen::cache::test {

/// A codec of a user's own: of each number stays whether it is below 0.
class sign_codec final : public codec {
 public:
  std::string name() const override { return "signs"; }
  std::int64_t quantized_bytes(int head_dim) const override { return std::int64_t{block_tokens} * head_dim; }
  void quantize(const float* values, int head_dim, std::byte* quantized) const override {
    for (int i = 0; i < block_tokens * head_dim; ++i) quantized[i] = std::byte(values[i] < 0);
  }
  void dequantize(const std::byte* quantized, int head_dim, float* values) const override {
    for (int i = 0; i < block_tokens * head_dim; ++i) values[i] = quantized[i] == std::byte(0) ? 1.0F : -1.0F;
  }
};

}  // namespace cogen::cache::test
