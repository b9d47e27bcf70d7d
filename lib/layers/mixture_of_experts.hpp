#pragma once

#include "layers/forward_context.hpp"
#include "layers/mlp.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cogen::layers {

/// Some feed-forwards of which a router chooses a few for each row, without a limit on the rows that one expert gets.
/// Immutable.
class mixture_of_experts {
 public:
  /// Reads the router and the experts after the prefix.
  mixture_of_experts(weight_reader& weights, const std::string& prefix, const models::moe_spec& spec,
                     std::int64_t hidden);

  /// out += the sum of the chosen experts' results, times their shares, in the experts' order. x and out
  /// [rows, hidden]; they do not overlap. The rows of one expert go through it together; a row's result depends on that
  /// row alone.
  void add(const forward_context& context, const activations& x, const activations& out) const;

  /// Of all experts: what a step with many rows reads.
  std::int64_t bytes() const;

 private:
  std::int64_t hidden_;
  std::int64_t top_k_;
  projection router_;
  std::vector<mlp> experts_;
};

}  // namespace cogen::layers
