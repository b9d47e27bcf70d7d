#pragma once

#include "network/backend/cuda/cublaslt_products.hpp"
#include "network/backend/cuda/kernel_operands.hpp"
#include "network/backend/operators.hpp"
#include "network/kernels/linear_cuda.hpp"

#include <cstdint>

namespace cogen::device {

/// In whose type a product computes.
inline const at::Tensor& numbers_of(const projection& linear) {
  return linear.scales.defined() ? linear.scales : linear.weights;
}

/// Whether a kernel norms such rows.
bool norm_has_kernel(const at::Tensor& x, const norm& params);

/// Products of rows with weights: of few rows by cogen's kernels, of more by cuBLASLt, by LibTorch, or in fp8. Used by
/// one thread at a time, on the current stream.
class cuda_products {
 public:
  /// Batch-invariant ones are those of kernels alone.
  cuda_products(const cudaDeviceProp& device, bool batch_invariant);

  /// The operands of a kernel, with rows that may have been made for it.
  struct product_of_rows {
    at::Tensor rows;
    kernels::cuda::linear_operands operands;
  };

  /// Whether a kernel multiplies. Throws std::invalid_argument where it would have to for batch-invariant products, and
  /// does not.
  bool has_kernel(const at::Tensor& x, const projection& linear) const;

  /// x times the weights.
  kernels::cuda::linear_operands product_of(const at::Tensor& x, const projection& linear, const at::Tensor& y) const;

  /// The rows normed, times the weights.
  product_of_rows product_of_norm(const norm_input& input, const norm& pre_norm, const projection& linear,
                                  const at::Tensor& y) const;

  /// By a kernel.
  static void run(const kernels::cuda::linear_operands& product);

  /// Rows normed, as a product takes them.
  at::Tensor rows_for(const projection& linear, const at::Tensor& x, const norm& pre_norm) const;

  // Without a kernel.

  void multiply(const at::Tensor& x, const projection& linear, const at::Tensor& y);
  void multiply_normed(const at::Tensor& x, const norm& pre_norm, const projection& linear, const at::Tensor& y);

  /// The same as multiply_normed(), of many outputs: some of them at a time where weights are packed. As numbers, all
  /// of these would take more memory than a step has.
  void multiply_normed_in_parts(const at::Tensor& x, const norm& pre_norm, const projection& linear,
                                const at::Tensor& y);

  /// Adds x times the weights to `sum` (float32).
  void multiply_and_add(const at::Tensor& x, const projection& linear, at::Tensor sum);

  /// As numbers: [outputs, inputs].
  static at::Tensor weights_of(const projection& linear, std::int64_t inputs);

 private:
  bool in_fp8(const at::Tensor& x, const projection& linear) const;

  const int processors_;
  const bool batch_invariant_;
  const bool multiplies_fp8_;
  cublaslt_products library_;
};

}  // namespace cogen::device
