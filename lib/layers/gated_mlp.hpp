#pragma once

#include "kernels/activation.hpp"
#include "layers/forward_context.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <string>

namespace cogen::layers {

/// down(f(gate x) * up x): SwiGLU and its relatives (Shazeer, arXiv:2002.05202). Immutable.
class gated_mlp {
 public:
  /// Reads PREFIX + "gate_proj", "up_proj" and "down_proj".
  gated_mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
            bool bias, kernels::activation activation_of = kernels::activation::silu);

  /// out = mlp(x). x and out [rows, hidden]; they may be the same.
  void operator()(const forward_context& context, const input& x, const activations& out) const;

  /// out += mlp(x).
  void add(const forward_context& context, const input& x, const activations& out) const;

  std::int64_t bytes() const { return gate_up_.bytes() + down_.bytes(); }

 private:
  kernels::activation_operands gated(const forward_context& context, const input& x) const;

  std::int64_t intermediate_;
  kernels::activation activation_of_;
  projection gate_up_;
  projection down_;
};

}  // namespace cogen::layers
