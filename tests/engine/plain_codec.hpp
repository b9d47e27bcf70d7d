#pragma once

#include <cogen/extend/kv_codec.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cogen::test {

/// A codec of its own, for those that refuse it.
class plain_codec final : public cache::codec {
 public:
  std::string name() const override { return "plain"; }
  std::int64_t quantized_bytes(int head_dim) const override { return 256LL * head_dim; }
  void quantize(const float*, int, std::byte*) const override {}
  void dequantize(const std::byte*, int, float*) const override {}
};

}  // namespace cogen::test
