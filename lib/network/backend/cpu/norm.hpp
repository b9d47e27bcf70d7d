#pragma once

#include "network/backend/cpu/forward_context.hpp"
#include "network/kernels/rms_norm.hpp"
#include "network/models/model_spec.hpp"
#include "network/weights/qkv_rows.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace cogen::cpu {

/// A norm of rows, or of parts of them: an RMS norm or a layer norm. Immutable.
class norm {
 public:
  /// weight and bias [width]; without a bias it is 0.
  norm(const models::norm_spec& spec, std::vector<float> weight, std::vector<float> bias = {});

  /// x and out [rows, a multiple of width]; they may be the same. Each `width` neighbors of a row are normed by
  /// themselves: a row may be one vector, or heads side by side.
  void operator()(const forward_context& context, const activations& x, const activations& out) const;

  /// out += norm(x).
  void add(const forward_context& context, const activations& x, const activations& out) const;

  /// norm(x), row by row as a projection reads it from `out`. None for a layer norm.
  std::optional<kernels::rms_norm_rows> prologue(const forward_context& context, const activations& x,
                                                 const activations& out) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>((weight_.size() + bias_.size()) * sizeof(float)); }

 private:
  kernels::rms_norm_operands operands(const activations& x, const activations& out) const;
  void layer_norm(const forward_context& context, const activations& x, const activations& out) const;

  models::norm_spec::kind type_;
  float epsilon_;
  float weight_offset_;
  std::vector<float> weight_;
  std::vector<float> bias_;  // of a layer norm
};

/// Norms equal parts of the rows of x, side by side, each by its own; or all of them by one; or none by none.
void norm_parts(const std::vector<norm>& norms, const forward_context& context, const activations& x);

/// Norms of queries, keys and values side by side. Immutable.
class qk_norm {
 public:
  qk_norm(const models::attention_spec& spec, const weights::head_numbers& numbers);

  /// In place. q [rows, heads * head_dim], k and v [rows, kv_heads * head_dim]
  void operator()(const forward_context& context, const activations& q, const activations& k,
                  const activations& v) const;

 private:
  std::vector<norm> q_;  // one for all heads, or one for each
  std::vector<norm> k_;
  std::vector<norm> v_;
};

}  // namespace cogen::cpu
