#include "network/backend/tensor/norms.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>

namespace cogen::device {

at::Tensor normed(const at::Tensor& x, const norm& params) {
  if (!params.weight.defined()) return x;
  const auto centered = params.is_layer_norm ? x - x.mean(-1, true) : x;
  const auto scaled = centered * at::rsqrt(centered.square().mean(-1, true) + params.epsilon);
  const auto weighted = scaled * (params.weight.to(at::kFloat) + params.weight_offset);
  return params.bias.defined() ? weighted + params.bias.to(at::kFloat) : weighted;
}

at::Tensor normed(const at::Tensor& x, const head_norm& norms) {
  if (!norms.params.weight.defined()) return x;
  auto grouped = norms.params;
  grouped.weight = norms.params.weight.view({-1, norms.width});
  if (norms.params.bias.defined()) grouped.bias = norms.params.bias.view({-1, norms.width});
  return normed(x.unflatten(-1, {-1, norms.width}), grouped).flatten(-2);
}

}  // namespace cogen::device
