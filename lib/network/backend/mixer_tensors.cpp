#include "network/backend/mixer_tensors.hpp"

#include "network/backend/tensor_weights.hpp"

#include <ATen/ops/exp.h>

namespace cogen::device {

namespace {

std::int64_t bytes_of(std::initializer_list<at::Tensor> all) {
  std::int64_t bytes = 0;
  for (const auto& each : all)
    if (each.defined()) bytes += static_cast<std::int64_t>(each.nbytes());
  return bytes;
}

at::Tensor decays(tensor_weights& weights, const std::string& prefix, std::int64_t heads) {
  return -at::exp(weights.in_float32(prefix + "A_log", {heads}));
}

}  // namespace

convolution::convolution(tensor_weights& from, const std::string& name, std::int64_t channels, std::int64_t taps,
                         bool bias)
    : weights(from.in_float32(name + ".weight", {channels, 1, taps}).squeeze(1).t().contiguous()),
      biases(bias ? from.in_float32(name + ".bias", {channels}) : at::Tensor()) {}

std::int64_t convolution::bytes() const { return bytes_of({weights, biases}); }

short_convolution::short_convolution(tensor_weights& weights, const std::string& prefix,
                                     const models::short_convolution_spec& how)
    : spec(how), convolves(weights, prefix + "conv", how.channels, how.taps, how.bias) {}

delta_net::delta_net(tensor_weights& weights, const std::string& prefix, const models::delta_net_spec& how)
    : spec(how),
      convolves(weights, prefix + "conv1d", how.channels(), how.taps, false),
      decay(decays(weights, prefix, how.heads)),
      step_bias(weights.in_float32(prefix + "dt_bias", {how.heads})),
      norm(weights.in_float32(prefix + "norm.weight", {how.value_width})) {}

std::int64_t delta_net::bytes() const { return convolves.bytes() + bytes_of({decay, step_bias, norm}); }

mamba2_scan::mamba2_scan(tensor_weights& weights, const std::string& prefix, const models::mamba2_spec& how)
    : spec(how),
      convolves(weights, prefix + "conv1d", how.channels(), how.taps, how.convolution_bias),
      decay(decays(weights, prefix, how.heads)),
      step_bias(weights.in_float32(prefix + "dt_bias", {how.heads})),
      skip(weights.in_float32(prefix + "D", {how.heads})) {
  if (how.norm != models::mamba2_spec::norm_place::none)
    norm = weights.in_float32(prefix + "norm.weight", {how.values()});
}

std::int64_t mamba2_scan::bytes() const { return convolves.bytes() + bytes_of({decay, step_bias, skip, norm}); }

}  // namespace cogen::device
