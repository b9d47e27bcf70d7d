#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/prologue.hpp"
#include "network/kernels/strided_rows.hpp"

#include <cstdint>

namespace cogen::kernels {

struct rms_norm_job;

/// out = x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset), row by row (Zhang and Sennrich, arXiv:1910.07467).
/// A row may hold several vectors one after the other, heads say, that are normed each by itself with the same weights.
/// Strides count floats between rows. out may be x.
struct rms_norm_operands {
  strided_rows<float> x = {};          // [rows, vectors, width]; changed only if `add` is given
  strided_rows<const float> add = {};  // [rows, vectors, width], or none: x += add before the norm
  const float* weight = nullptr;       // [width]
  float weight_offset = 0.0F;          // 1 in Gemma's convention
  float epsilon = 1e-5F;
  strided_rows<float> out = {};  // [rows, vectors, width]
  bool add_to_out = false;       // out += what it would be otherwise
  std::int64_t rows = 0;
  std::int64_t vectors = 1;
  std::int64_t width = 0;
};

/// Each vector's result depends on that vector alone. Any thread.
void rms_norm(const execution& run, const rms_norm_operands& operands);

/// The same as a product's rows (linear_operands::maker).
class rms_norm_rows final : public prologue {
 public:
  rms_norm_rows(const execution& run, const rms_norm_operands& operands);
  void make(std::int64_t row) const override;

 private:
  void (*norm_)(const rms_norm_job& job);
  rms_norm_operands operands_;
};

}  // namespace cogen::kernels
