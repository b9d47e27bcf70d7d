#pragma once

#include "device/operators.hpp"

namespace cogen::test {

/// The operators as plain tensor arithmetic in float32, on any device: what kernels are held against, and what a
/// network on a device is computed with where there is none. Quantized tokens are stored dequantized.
class plain_operators final : public device::operators {
 public:
  std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                    std::int64_t head_dim) override;
  at::Tensor quantize(const at::Tensor& codes) override { return codes; }
  void embed(const at::Tensor& table, const device::step_rows& rows, const at::Tensor& last,
             const at::Tensor& x) override;
  void norm_linear(const at::Tensor& x, const device::rms_norm& before, const device::projection& by,
                   const at::Tensor& y) override;
  void norm_gated(const at::Tensor& x, const device::rms_norm& before, const device::projection& by,
                  const at::Tensor& y) override;
  void linear_add(const at::Tensor& y, const device::projection& by, const at::Tensor& x) override;
  void rotate_and_append(const device::qkv_rows& numbers, const device::attention_shape& shape,
                         const device::rotation& turn, const device::step_rows& rows,
                         const cache::device_layer& layer) override;
  void attend(const device::qkv_rows& numbers, const device::attention_shape& shape, const device::step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override;
  void sample(const at::Tensor& logits, const device::step_sampling& how, const at::Tensor& last,
              const at::Tensor& tokens, const at::Tensor& statuses) override;
};

}  // namespace cogen::test
