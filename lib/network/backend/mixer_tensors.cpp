#include "network/backend/mixer_tensors.hpp"

#include "network/backend/tensor_weights.hpp"

#include <ATen/ops/exp.h>

namespace cogen::device {

namespace {

std::int64_t bytes_of(std::initializer_list<at::Tensor> parameters) {
  std::int64_t bytes = 0;
  for (const auto& each : parameters)
    if (each.defined()) bytes += static_cast<std::int64_t>(each.nbytes());
  return bytes;
}

at::Tensor decays(tensor_weights& weights, const std::string& prefix, std::int64_t heads) {
  return -at::exp(weights.in_float32(prefix + "A_log", {heads}));
}

}  // namespace

convolution::convolution(tensor_weights& source, const std::string& name, std::int64_t channels, std::int64_t taps,
                         bool bias)
    : weights(source.in_float32(name + ".weight", {channels, 1, taps}).squeeze(1).t().contiguous()),
      biases(bias ? source.in_float32(name + ".bias", {channels}) : at::Tensor()) {}

std::int64_t convolution::bytes() const { return bytes_of({weights, biases}); }

short_convolution::short_convolution(tensor_weights& weights, const std::string& prefix,
                                     const models::short_convolution_spec& description)
    : spec(description),
      convolves(weights, prefix + "conv", description.channels, description.taps, description.bias) {}

delta_net::delta_net(tensor_weights& weights, const std::string& prefix, const models::delta_net_spec& description)
    : spec(description),
      convolves(weights, prefix + "conv1d", description.channels(), description.taps, false),
      decay(decays(weights, prefix, description.heads)),
      step_bias(weights.in_float32(prefix + "dt_bias", {description.heads})),
      norm(weights.in_float32(prefix + "norm.weight", {description.value_width})) {}

std::int64_t delta_net::bytes() const { return convolves.bytes() + bytes_of({decay, step_bias, norm}); }

mamba2_scan::mamba2_scan(tensor_weights& weights, const std::string& prefix, const models::mamba2_spec& description)
    : spec(description),
      convolves(weights, prefix + "conv1d", description.channels(), description.taps, description.convolution_bias),
      decay(decays(weights, prefix, description.heads)),
      step_bias(weights.in_float32(prefix + "dt_bias", {description.heads})),
      skip(weights.in_float32(prefix + "D", {description.heads})) {
  if (description.norm != models::mamba2_spec::norm_place::none)
    norm = weights.in_float32(prefix + "norm.weight", {description.values()});
}

std::int64_t mamba2_scan::bytes() const { return convolves.bytes() + bytes_of({decay, step_bias, skip, norm}); }

}  // namespace cogen::device
