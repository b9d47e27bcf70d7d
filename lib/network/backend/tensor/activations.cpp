#include "network/backend/tensor/activations.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

namespace cogen::device {

namespace {

at::Tensor bent(const at::Tensor& x, const parts::activation& function) {
  switch (function.kind) {
    case kernels::activation::silu:
      return at::silu(x);
    case kernels::activation::gelu:
      return at::gelu(x);
    case kernels::activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case kernels::activation::relu:
      return at::relu(x);
    case kernels::activation::relu_squared:
      return at::relu(x).square();
    case kernels::activation::sigmoid:
      return at::sigmoid(x);
    case kernels::activation::softcap:
      return at::tanh(x / function.parameters[0]) * function.parameters[0];
    case kernels::activation::swiglu_oai:
      break;  // see activated()
    case kernels::activation::xielu: {
      const auto [p, n, b, e] = function.parameters;
      const auto below = (at::expm1(x.clamp_max(e)) - x) * n;
      return at::where(x > 0, x.square() * p, below) + x * b;
    }
  }
  return x;
}

at::Tensor cut_off(const at::Tensor& gate, std::optional<float> deviations) {
  if (!deviations) return gate;
  const auto mean = gate.mean(1, true);
  return at::relu(gate - mean - (gate - mean).square().mean(1, true).sqrt() * *deviations);
}

}  // namespace

at::Tensor activated(const at::Tensor& product, const parts::activation& function) {
  if (!function.gated) return bent(product, function);
  const auto halves = product.chunk(2, 1);
  if (function.kind == kernels::activation::swiglu_oai) {
    const auto [alpha, limit, unused, none] = function.parameters;
    const auto gate = halves[0].clamp_max(limit);
    return (halves[1].clamp(-limit, limit) + 1) * gate * at::sigmoid(gate * alpha);
  }
  return bent(cut_off(halves[0] * function.gate_scale, function.gate_cutoff), function) * halves[1];
}

}  // namespace cogen::device
