#include "network/backend/cpu/convolution.hpp"

#include "network/backend/cpu/layer_states.hpp"
#include "network/kernels/causal_convolution.hpp"

#include <cstddef>

namespace cogen::cpu {

std::vector<float> channels_last(const std::vector<float>& stored, std::int64_t channels) {
  const auto rows = static_cast<std::size_t>(channels);
  const auto width = stored.size() / rows;
  std::vector<float> turned(stored.size());
  for (std::size_t channel = 0; channel < rows; ++channel) {
    for (std::size_t tap = 0; tap < width; ++tap) turned[tap * rows + channel] = stored[channel * width + tap];
  }
  return turned;
}

std::int64_t bytes_of(const std::vector<float>& numbers) {
  return static_cast<std::int64_t>(numbers.size() * sizeof(float));
}

convolution::convolution(weight_reader& weights, const std::string& name, const shape& shape)
    : shape_(shape),
      weight_(channels_last(weights.numbers(name + ".weight", {shape.channels, 1, shape.taps}), shape.channels)) {
  if (shape.bias) bias_ = weights.numbers(name + ".bias", {shape.channels});
}

void convolution::operator()(const forward_context& context, int layer, const activations& x,
                             const activations& out) const {
  run_with_states(context, layer, kernels::causal_convolution,
                  {.x = x,
                   .weight = weight_.data(),
                   .bias = bias_.empty() ? nullptr : bias_.data(),
                   .out = out,
                   .channels = shape_.channels,
                   .taps = static_cast<int>(shape_.taps),
                   .silu = shape_.silu});
}

}  // namespace cogen::cpu
