#pragma once

#include "device/operators.hpp"

namespace cogen::test {

/// The operators as plain tensor arithmetic in float32, on any device: what kernels are held against, and what a
/// network on a device is computed with where there is none.
class plain_operators final : public device::operators {
 public:
  void embed(const at::Tensor& table, const device::step_rows& rows, const at::Tensor& last,
             const at::Tensor& x) override;
  void add_norm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon,
                const at::Tensor& out) override;
  void linear(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& bias, const at::Tensor& y) override;
  void scores(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& y) override;
  void rotate_and_append(const at::Tensor& qkv, const device::attention_shape& shape, const at::Tensor& rope,
                         const device::step_rows& rows, const cache::device_layer& layer) override;
  void attend(const at::Tensor& qkv, const device::attention_shape& shape, const device::step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override;
  void gate(const at::Tensor& gate_up, const at::Tensor& out) override;
};

}  // namespace cogen::test
