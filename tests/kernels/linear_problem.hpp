#pragma once

#include "network/kernels/linear.hpp"
#include "quantized_rows.hpp"
#include "variants.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cogen::kernels {

/// Random weights of one format, and random rows to multiply by them.
struct linear_problem {
  encoder_rows weights;
  tiled_matrix packed;
  std::vector<float> x;
  std::int64_t rows;

  linear_problem(element_type format, std::int64_t m, std::int64_t n, std::int64_t k, worker_pool& workers)
      : weights(random_rows(format, n, k, 17)), x(random_floats(static_cast<std::size_t>(m * k), 23)), rows(m) {
    const weight_source source = weights.source();
    packed = tiled_matrix({&source, 1}, k, workers);
  }

  std::vector<float> multiply(const execution& run) const { return multiply(run, 0, rows); }

  std::vector<float> multiply(const execution& run, std::int64_t first, std::int64_t last) const {
    std::vector<float> y(static_cast<std::size_t>((last - first) * packed.outputs()));
    std::vector<float> scratch(static_cast<std::size_t>(linear_scratch_floats(run, packed, last - first)));
    linear(run, packed,
           {.x = {x.data() + first * packed.inputs(), packed.inputs()},
            .y = {y.data(), packed.outputs()},
            .rows = last - first,
            .scratch = scratch.data()});
    return y;
  }

  /// The largest error of any output, relative to the sum of its products' magnitudes.
  double error(const std::vector<float>& y) const { return error(y, x); }

  /// The same, for the product of other rows than x. NaN where an output is.
  double error(const std::vector<float>& y, const std::vector<float>& instead) const {
    double largest = 0;
    const float* found = y.data();
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t output = 0; output < packed.outputs(); ++output) {
        const double off = error(*found++, instead.data() + row * packed.inputs(), output);
        if (std::isnan(off)) return off;
        largest = std::max(largest, off);
      }
    return largest;
  }

 private:
  double error(float found, const float* input, std::int64_t output) const {
    const float* weight = weights.values.data() + output * packed.inputs();
    double exact = 0, magnitudes = 0;
    for (std::int64_t k = 0; k < packed.inputs(); ++k) {
      const double product = static_cast<double>(input[k]) * static_cast<double>(weight[k]);
      exact += product;
      magnitudes += std::abs(product);
    }
    return std::abs(static_cast<double>(found) - exact) / magnitudes;
  }
};

}  // namespace cogen::kernels
