#pragma once

#include "network/backend/cpu/convolution.hpp"
#include "network/backend/cpu/linear_attention.hpp"
#include "network/backend/cpu/norm.hpp"
#include "network/models/recurrent_specs.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cogen::cpu {

/// What a Mamba-2 mixer does between its products. Immutable.
class mamba2_scan {
 public:
  /// Reads PREFIX + "conv1d", "A_log", "dt_bias", "D" and "norm".
  mamba2_scan(weight_reader& weights, const std::string& prefix, const models::mamba2_spec& spec);

  std::int64_t in_width() const { return spec_.in_width(); }
  std::int64_t decisions() const { return spec_.decisions(); }

  /// From and to the states of cache layer `layer`. in [step.tokens(), z|x|B|C], steps [step.tokens(), heads]; both
  /// are overwritten. Result [step.tokens(), values]. Throws std::logic_error for a layer that keeps no states.
  activations operator()(const forward_context& context, int layer, const activations& in,
                         const activations& steps) const;

  std::int64_t bytes() const;

 private:
  void scale(const forward_context& context, const activations& in, const activations& steps) const;
  void scan(const forward_context& context, int layer, const activations& xbc, const activations& steps) const;

  models::mamba2_spec spec_;
  convolution convolution_;
  head_decay decay_;
  std::vector<float> skip_;  // [heads]
  std::vector<norm> norms_;  // [groups], or none
};

}  // namespace cogen::cpu
