#include "network/backend/tensor/norms.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>

namespace cogen::device {

at::Tensor normed(const at::Tensor& x, const norm& by) {
  if (!by.weight.defined()) return x;
  const auto centered = by.is_layer_norm ? x - x.mean(-1, true) : x;
  const auto scaled = centered * at::rsqrt(centered.square().mean(-1, true) + by.epsilon);
  const auto weighted = scaled * (by.weight.to(at::kFloat) + by.weight_offset);
  return by.bias.defined() ? weighted + by.bias.to(at::kFloat) : weighted;
}

at::Tensor normed(const at::Tensor& x, const head_norm& how) {
  if (!how.by.weight.defined()) return x;
  auto each = how.by;
  each.weight = how.by.weight.view({-1, how.width});
  if (how.by.bias.defined()) each.bias = how.by.bias.view({-1, how.width});
  return normed(x.unflatten(-1, {-1, how.width}), each).flatten(-2);
}

}  // namespace cogen::device
