#pragma once

#include "kernels/rms_norm.hpp"
#include "layers/forward_context.hpp"
#include "layers/weight_reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cogen::layers {

/// x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset). Immutable.
class rms_norm {
 public:
  /// Reads the vector `name` of `width` weights. weight_offset is 1 in Gemma's convention.
  rms_norm(weight_reader& weights, const std::string& name, std::int64_t width, double epsilon,
           float weight_offset = 0);

  /// x and out [rows, a multiple of width]; they may be the same. Each `width` neighbors of a row are normed by
  /// themselves: a row may be one vector, or heads side by side.
  void operator()(const forward_context& context, const activations& x, const activations& out) const;

  /// out += norm(x).
  void add(const forward_context& context, const activations& x, const activations& out) const;

  /// norm(x), row by row as a projection reads it from `out`.
  kernels::rms_norm_rows rows(const forward_context& context, const activations& x, const activations& out) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>(weight_.size() * sizeof(float)); }

 private:
  kernels::rms_norm_operands operands(const activations& x, const activations& out) const;

  std::vector<float> weight_;
  float epsilon_;
  float weight_offset_;
};

/// (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias, row by row. Immutable.
class layer_norm {
 public:
  /// Reads PREFIX + "weight" and PREFIX + "bias", both of `width`.
  layer_norm(weight_reader& weights, const std::string& prefix, std::int64_t width, double epsilon);

  /// x and out [rows, width]; they may be the same.
  void operator()(const forward_context& context, const activations& x, const activations& out) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>(2 * weight_.size() * sizeof(float)); }

 private:
  std::vector<float> weight_;
  std::vector<float> bias_;
  float epsilon_;
};

}  // namespace cogen::layers
