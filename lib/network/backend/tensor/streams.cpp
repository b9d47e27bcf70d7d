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

void tensor_operators::start_streams(const streams& by, const at::Tensor& x, const at::Tensor& all) {
  std::vector<at::Tensor> made{x};
  for (const auto& each : by.in) made.push_back(at_magnitude_of(x, product(x, each)));
  all.copy_(at::cat(made, 1));
}

void tensor_operators::step_streams(const stream_step& by, const at::Tensor& all, const at::Tensor& x) {
  const auto streams = all.unflatten(1, {by.how.streams, x.size(1)});
  const auto active = streams.select(1, by.how.active);
  const auto modes = at::tanh(product(normed(by.how.corrects ? x : active, by.norm), by.router));
  const auto factors = product(modes, by.coefficients);
  if (by.how.corrects)
    streams.add_((factors + 1).unsqueeze(2) * (x - active).unsqueeze(1));
  else
    streams.add_(at::matmul(factors.unflatten(1, {by.how.streams, by.how.streams}), streams));
  x.copy_(by.scale.defined() ? active * by.scale.to(at::kFloat) : active);
}

void tensor_operators::join_streams(const streams& by, const at::Tensor& all, const at::Tensor& x) {
  const auto streams = all.chunk(by.count(), 1);
  x.copy_(streams[0]);
  for (std::size_t index = 1; index < streams.size(); ++index)
    x.add_(at_magnitude_of(streams[0], product(streams[index], by.out[index - 1])));
  x.div_(by.count());
}

void tensor_operators::linear_add_to_streams(const at::Tensor& y, const projection& by, const norm& after,
                                             const at::Tensor& all) {
  const auto made = normed(product(y, by), after);
  all.slice(1, made.size(1)).unflatten(1, {-1, made.size(1)}).add_(made.unsqueeze(1));
}

}  // namespace cogen::device
