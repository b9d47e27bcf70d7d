#include "network/backend/tensor_weights.hpp"

#include <ATen/ops/exp.h>

#include <array>

namespace cogen::device {

namespace {

projection project(tensor_weights& weights, const std::string& name, std::int64_t outputs, std::int64_t inputs) {
  return {weights.matrix(std::array{weights::named_rows{.name = name + ".weight", .rows = outputs}}, inputs)};
}

}  // namespace

selective_scan::selective_scan(tensor_weights& weights, const std::string& prefix, const models::mamba_spec& spec)
    : convolves(weights, prefix + "conv1d", spec.channels, spec.taps, spec.convolution_bias),
      selection(project(weights, prefix + "x_proj", spec.rank + 2 * spec.states, spec.channels)),
      step(project(weights, prefix + "dt_proj", spec.channels, spec.rank)),
      decay(-at::exp(weights.in_float32(prefix + "A_log", {spec.channels, spec.states}).t().contiguous())),
      skip(weights.in_float32(prefix + "D", {spec.channels})) {
  step.bias = weights.vector(std::array{weights::named_rows{.name = prefix + "dt_proj.bias", .rows = spec.channels}});
  if (!spec.norm_epsilon) return;
  const auto norm_of = [&](const char* name, std::int64_t width) {
    return weights.norm({.name = prefix + name, .epsilon = *spec.norm_epsilon}, width);
  };
  step_norm = norm_of("dt_layernorm", spec.rank);
  b_norm = norm_of("b_layernorm", spec.states);
  c_norm = norm_of("c_layernorm", spec.states);
}

std::int64_t selective_scan::bytes() const {
  auto bytes = convolves.bytes() + tensors::bytes(selection) + tensors::bytes(step);
  for (const auto* numbers : {&decay, &skip}) bytes += static_cast<std::int64_t>(numbers->nbytes());
  for (const auto* norm : {&step_norm, &b_norm, &c_norm}) bytes += tensors::bytes(*norm);
  return bytes;
}

}  // namespace cogen::device
