#pragma once

#include "kernels/activation_kind.hpp"
#include "layers/forward_context.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <string>

namespace cogen::layers {

/// fc2(f(fc1(x))), both with biases. Immutable.
class mlp {
 public:
  /// Reads PREFIX + "fc1" and "fc2".
  mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
      kernels::activation activation_of);

  /// out += mlp(x). x and out [rows, hidden]; they may be the same.
  void add(const forward_context& context, const activations& x, const activations& out) const;

  std::int64_t bytes() const { return inner_.bytes() + outer_.bytes(); }

 private:
  std::int64_t intermediate_;
  kernels::activation activation_of_;
  projection inner_;
  projection outer_;
};

}  // namespace cogen::layers
