#pragma once

#include "network/backend/cpu/convolution.hpp"
#include "network/backend/cpu/forward_context.hpp"
#include "network/backend/cpu/norm.hpp"
#include "network/backend/cpu/projection.hpp"
#include "network/backend/cpu/weight_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cogen::cpu {

/// What a selective state-space mixer does between its products. Its state does not grow with the sequence. Immutable.
class mamba_scan {
 public:
  /// Reads PREFIX + "conv1d", "x_proj", "dt_proj", "A_log" and "D"; with norms also "dt_layernorm", "b_layernorm" and
  /// "c_layernorm".
  mamba_scan(weight_reader& weights, const std::string& prefix, const models::mamba_spec& spec);

  std::int64_t in_width() const { return 2 * spec_.channels; }

  /// Convolves, scans and gates, from and to the states of cache layer `layer`. x_and_gate [step.tokens(), in_width],
  /// result [step.tokens(), channels]. Throws std::logic_error for a layer that keeps no states.
  activations operator()(const forward_context& context, int layer, const activations& x_and_gate) const;

  std::int64_t bytes() const;

 private:
  struct norms {
    norm step;
    norm b;
    norm c;
  };

  void scan(const forward_context& context, int layer, const activations& x, const activations& gate,
            const activations& out) const;

  models::mamba_spec spec_;
  convolution convolution_;
  projection selection_;  // to time step | B | C
  std::optional<norms> norms_;
  projection step_;
  std::vector<float> decay_;  // [states, channels]
  std::vector<float> skip_;   // [channels]
};

}  // namespace cogen::cpu
