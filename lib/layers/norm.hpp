#pragma once

#include "layers/pass.hpp"
#include "layers/weight_reader.hpp"

#include <string>
#include <vector>

namespace cogen::layers {

/// x / sqrt(mean(x^2) + epsilon) * weight, row by row. Immutable.
class rms_norm {
 public:
  /// Reads the vector `name` of `width` weights.
  rms_norm(weight_reader& weights, const std::string& name, std::int64_t width, double epsilon);

  /// x and out [rows, width]; they may be the same.
  void operator()(const pass& pass, const activations& x, const activations& out) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>(weight_.size() * sizeof(float)); }

 private:
  std::vector<float> weight_;
  float epsilon_;
};

}  // namespace cogen::layers
