#pragma once

#include "network/models/recurrent_specs.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <variant>

namespace cogen::device {

class tensor_weights;

/// A causal convolution of each channel by itself.
struct convolution {
  /// Reads NAME + ".weight" and, with a bias, NAME + ".bias".
  convolution(tensor_weights& source, const std::string& name, std::int64_t channels, std::int64_t taps, bool bias);

  std::int64_t channels() const { return weights.size(1); }
  std::int64_t taps() const { return weights.size(0); }
  std::int64_t bytes() const;

  at::Tensor weights;  ///< [taps, channels] float32, oldest first
  at::Tensor biases;   ///< [channels] float32, or none
};

// What recurrent mixers do between their products, as their descriptions say. A slot's state is the convolution's last
// inputs, [taps - 1, channels], oldest first, then that of each head, [heads, width of a key, width of a value].
// Tensors are float32.

struct short_convolution {
  /// Reads PREFIX + "conv".
  short_convolution(tensor_weights& weights, const std::string& prefix,
                    const models::short_convolution_spec& description);

  std::int64_t bytes() const { return convolves.bytes(); }

  models::short_convolution_spec spec;
  convolution convolves;
};

struct delta_net {
  /// Reads PREFIX + "conv1d", "A_log", "dt_bias" and "norm".
  delta_net(tensor_weights& weights, const std::string& prefix, const models::delta_net_spec& description);

  std::int64_t bytes() const;

  models::delta_net_spec spec;
  convolution convolves;
  at::Tensor decay;      ///< [heads]; negative
  at::Tensor step_bias;  ///< [heads]
  at::Tensor norm;       ///< [value_width]
};

struct mamba2_scan {
  /// Reads PREFIX + "conv1d", "A_log", "dt_bias", "D" and, if the description has it, "norm".
  mamba2_scan(tensor_weights& weights, const std::string& prefix, const models::mamba2_spec& description);

  std::int64_t bytes() const;

  models::mamba2_spec spec;
  convolution convolves;
  at::Tensor decay;      ///< [heads]; negative
  at::Tensor step_bias;  ///< [heads]
  at::Tensor skip;       ///< [heads]
  at::Tensor norm;       ///< [values], or none
};

using mixer = std::variant<short_convolution, delta_net, mamba2_scan>;

}  // namespace cogen::device
