#pragma once

#include "network/backend/cpu/forward_context.hpp"
#include "network/backend/cpu/weight_reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cogen::cpu {

/// [channels, width] -> [width, channels]
std::vector<float> channels_last(const std::vector<float>& stored, std::int64_t channels);

std::int64_t bytes_of(const std::vector<float>& numbers);

/// A causal convolution of each channel by itself. Its last inputs are the first numbers of its layer's state.
/// Immutable.
class convolution {
 public:
  struct shape {
    std::int64_t channels = 0;
    std::int64_t taps = 0;
    bool bias = false;
    bool silu = true;  ///< of the sum
  };

  /// Reads NAME + ".weight" and, with a bias, NAME + ".bias".
  convolution(weight_reader& weights, const std::string& name, const shape& shape);

  /// From and to the states of cache layer `layer`. x and out [step.tokens(), channels]; they do not overlap. Throws
  /// std::logic_error for a layer that keeps no states.
  void operator()(const forward_context& context, int layer, const activations& x, const activations& out) const;

  /// Numbers of a slot's state that are its own.
  std::int64_t state() const { return shape_.channels * (shape_.taps - 1); }

  std::int64_t bytes() const { return bytes_of(weight_) + bytes_of(bias_); }

 private:
  shape shape_;
  std::vector<float> weight_;  // [taps, channels]
  std::vector<float> bias_;    // [channels], or none
};

}  // namespace cogen::cpu
