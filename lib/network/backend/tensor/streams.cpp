#include "network/backend/tensor/norms.hpp"
#include "network/backend/tensor/tensor_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tanh.h>

#include <cstddef>
#include <vector>

namespace cogen::device {

namespace {

/// Rows at the magnitude of those of `like`.
at::Tensor at_magnitude_of(const at::Tensor& like, const at::Tensor& x) {
  return x * (like.square().mean(1, true) / x.square().mean(1, true).clamp_min(1e-5)).sqrt();
}

}  // namespace

void tensor_operators::start_streams(const streams& part, const at::Tensor& x, const at::Tensor& states) {
  std::vector<at::Tensor> outputs{x};
  for (const auto& each : part.in) outputs.push_back(at_magnitude_of(x, product(x, each)));
  states.copy_(at::cat(outputs, 1));
}

void tensor_operators::step_streams(const stream_step& step, const at::Tensor& states, const at::Tensor& x) {
  const auto streams = states.unflatten(1, {step.spec.streams, x.size(1)});
  const auto active = streams.select(1, step.spec.active);
  const auto modes = at::tanh(product(normed(step.spec.corrects ? x : active, step.norm), step.router));
  const auto factors = product(modes, step.coefficients);
  if (step.spec.corrects)
    streams.add_((factors + 1).unsqueeze(2) * (x - active).unsqueeze(1));
  else
    streams.add_(at::matmul(factors.unflatten(1, {step.spec.streams, step.spec.streams}), streams));
  x.copy_(step.scale.defined() ? active * step.scale.to(at::kFloat) : active);
}

void tensor_operators::join_streams(const streams& part, const at::Tensor& states, const at::Tensor& x) {
  const auto streams = states.chunk(part.count(), 1);
  x.copy_(streams[0]);
  for (std::size_t index = 1; index < streams.size(); ++index)
    x.add_(at_magnitude_of(streams[0], product(streams[index], part.out[index - 1])));
  x.div_(part.count());
}

void tensor_operators::linear_add_to_streams(const at::Tensor& y, const projection& linear, const norm& after,
                                             const at::Tensor& states) {
  const auto result = normed(product(y, linear), after);
  states.slice(1, result.size(1)).unflatten(1, {-1, result.size(1)}).add_(result.unsqueeze(1));
}

}  // namespace cogen::device
