#pragma once

#include "layers/forward_context.hpp"
#include "layers/gated_mlp.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cogen::layers {

struct mixture_shape {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t experts = 0;
  std::int64_t chosen = 0;  // experts that a row is sent to
};

/// Some feed-forwards of which a router chooses a few for each row (Shazeer et al., arXiv:1701.06538), without a limit
/// on the rows that one expert gets. Immutable.
class mixture_of_experts {
 public:
  /// Reads PREFIX + "router" and, for each expert E, PREFIX + "experts.E." + "gate_proj", "up_proj" and "down_proj".
  mixture_of_experts(weight_reader& weights, const std::string& prefix, const mixture_shape& shape);

  /// out += the sum of the chosen experts' results, times their shares, in the experts' order. x and out
  /// [rows, hidden]; they do not overlap. The rows of one expert go through it together; a row's result depends on that
  /// row alone.
  void add(const forward_context& context, const activations& x, const activations& out) const;

  /// Of all experts: what a step with many rows reads.
  std::int64_t bytes() const;

 private:
  mixture_shape shape_;
  projection router_;
  std::vector<gated_mlp> experts_;
};

}  // namespace cogen::layers
