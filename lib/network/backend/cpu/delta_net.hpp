#pragma once

#include "network/backend/cpu/convolution.hpp"
#include "network/backend/cpu/linear_attention.hpp"
#include "network/backend/cpu/norm.hpp"
#include "network/models/recurrent_specs.hpp"

#include <cstdint>
#include <string>

namespace cogen::cpu {

/// What a gated delta net does between its products. Immutable.
class delta_net {
 public:
  /// Reads PREFIX + "conv1d", "A_log", "dt_bias" and "norm".
  delta_net(weight_reader& weights, const std::string& prefix, const models::delta_net_spec& spec);

  std::int64_t in_width() const { return spec_.in_width(); }
  std::int64_t decisions() const { return spec_.decisions(); }

  /// From and to the states of cache layer `layer`. in [step.tokens(), q|k|v|z], decisions [step.tokens(), b|a], which
  /// are overwritten; result [step.tokens(), values]. Throws std::logic_error for a layer that keeps no states.
  activations operator()(const forward_context& context, int layer, const activations& in,
                         const activations& decisions) const;

  std::int64_t bytes() const;

 private:
  void attend_to_states(const forward_context& context, int layer, const activations& qkv,
                        const activations& decisions) const;

  models::delta_net_spec spec_;
  convolution convolution_;
  norm q_norm_;
  norm k_norm_;
  head_decay decay_;
  norm norm_;
};

}  // namespace cogen::cpu
