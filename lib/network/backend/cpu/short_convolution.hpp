#pragma once

#include "network/backend/cpu/convolution.hpp"
#include "network/models/recurrent_specs.hpp"

#include <cstdint>
#include <string>

namespace cogen::cpu {

/// What a gated short convolution does between its products. Immutable.
class short_convolution {
 public:
  /// Reads PREFIX + "conv".
  short_convolution(weight_reader& weights, const std::string& prefix, const models::short_convolution_spec& spec);

  std::int64_t in_width() const { return 3 * channels_; }
  static std::int64_t decisions() { return 0; }

  /// From and to the states of cache layer `layer`. bcx [step.tokens(), in_width], which is overwritten; result
  /// [step.tokens(), channels]. Throws std::logic_error for a layer that keeps no states.
  activations operator()(const forward_context& context, int layer, const activations& bcx, const activations&) const;

  std::int64_t bytes() const { return convolution_.bytes(); }

 private:
  std::int64_t channels_;
  convolution convolution_;
};

}  // namespace cogen::cpu
