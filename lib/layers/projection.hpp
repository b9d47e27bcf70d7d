#pragma once

#include "kernels/prologue.hpp"
#include "layers/forward_context.hpp"
#include "layers/weight_reader.hpp"

#include <memory>
#include <string>
#include <vector>

namespace cogen::layers {

/// Scratch for a product of so many rows, until the caller's arena::scope ends.
float* linear_scratch(const forward_context& context, const kernels::tiled_matrix& weights, std::int64_t rows);

/// A projection's left side: stored rows, or rows that a prologue computes as they are read.
struct input {
  input(const activations& all, const kernels::prologue* computed_by = nullptr) : rows(all), maker(computed_by) {}

  activations rows;
  const kernels::prologue* maker;
};

/// One matrix, or several that read the same input and lie below one another (q|k|v, gate|up), with or without biases.
/// Immutable.
class projection {
 public:
  /// Reads PREFIX + NAME + ".weight" for each part and, where `bias` says so, PREFIX + NAME + ".bias".
  projection(weight_reader& weights, const std::string& prefix, const std::vector<named_rows>& parts,
             std::int64_t inputs, bool bias);

  /// y = W x + b. x [rows, inputs], y [rows, outputs]; they do not overlap.
  void operator()(const forward_context& context, const input& x, const activations& y) const;

  /// y += W x + b.
  void add(const forward_context& context, const input& x, const activations& y) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>(weights_->bytes()); }

 private:
  void multiply(const forward_context& context, const input& x, const activations& y, bool add_to_y) const;

  std::shared_ptr<const kernels::tiled_matrix> weights_;
  std::vector<float> bias_;
};

}  // namespace cogen::layers
