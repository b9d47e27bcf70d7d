#pragma once

#include "kernels/activation.hpp"
#include "layers/forward_context.hpp"
#include "layers/projection.hpp"
#include "models/model_spec.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace cogen::layers {

/// A feed-forward, with a gate or without. Immutable.
class mlp {
 public:
  /// Reads the matrices that the spec names after the prefix.
  mlp(weight_reader& weights, const std::string& prefix, const models::mlp_spec& spec, std::int64_t hidden);

  /// out = mlp(x). x and out [rows, hidden]; they may be the same.
  void operator()(const forward_context& context, const input& x, const activations& out) const;

  /// out += mlp(x).
  void add(const forward_context& context, const input& x, const activations& out) const;

  std::int64_t bytes() const { return up_.bytes() + down_.bytes(); }

 private:
  kernels::activation_operands inner(const forward_context& context, const input& x) const;

  std::int64_t intermediate_;
  kernels::activation activation_;
  bool gated_;
  std::array<float, 4> parameters_;  // of the activation
  projection up_;                    // gate | up, or up
  projection down_;
};

}  // namespace cogen::layers
