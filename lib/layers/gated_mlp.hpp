#pragma once

#include "layers/pass.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <string>

namespace cogen::layers {

/// down(silu(gate x) * up x): SwiGLU (Shazeer, arXiv:2002.05202). Immutable.
class gated_mlp {
 public:
  /// Reads PREFIX + "gate_proj", "up_proj" and "down_proj".
  gated_mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
            bool bias);

  /// out += mlp(x). x and out [rows, hidden]; they do not overlap.
  void add(const pass& pass, const activations& x, const activations& out) const;

  std::int64_t bytes() const { return gate_up_.bytes() + down_.bytes(); }

 private:
  std::int64_t intermediate_;
  projection gate_up_;
  projection down_;
};

}  // namespace cogen::layers
