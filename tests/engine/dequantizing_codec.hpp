#pragma once

#include <cogen/extend/kv_codec.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cogen::test {

/// A built-in codec as one of a user's own: a CPU makes its codes numbers and multiplies these in float32, as devices
/// do, instead of rounding what it multiplies them by.
class dequantizing_codec final : public cache::codec {
 public:
  explicit dequantizing_codec(std::shared_ptr<const cache::codec> built_in) : built_in_(std::move(built_in)) {}

  std::string name() const override { return built_in_->name() + ", dequantized"; }
  std::int64_t quantized_bytes(int head_dim) const override { return built_in_->quantized_bytes(head_dim); }
  void quantize(const float* values, int head_dim, std::byte* output) const override {
    built_in_->quantize(values, head_dim, output);
  }
  void dequantize(const std::byte* quantized, int head_dim, float* values) const override {
    built_in_->dequantize(quantized, head_dim, values);
  }

 private:
  std::shared_ptr<const cache::codec> built_in_;
};

inline cache::quantization dequantizing(const cache::quantization& scheme) {
  return {std::make_shared<dequantizing_codec>(scheme.keys), std::make_shared<dequantizing_codec>(scheme.values),
          scheme.residual};
}

}  // namespace cogen::test
