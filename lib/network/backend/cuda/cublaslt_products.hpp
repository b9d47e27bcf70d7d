#pragma once

#include <ATen/core/Tensor.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cublasLt.h>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace cogen::device {

/// y = x weights^T + bias, or y += x weights^T. Tensors are contiguous, and begin at multiples of 16 bytes.
struct matrix_product {
  at::Tensor x;          ///< [rows, inputs] float16 or bfloat16
  at::Tensor weights;    ///< [outputs, inputs] of the same type
  at::Tensor bias = {};  ///< [outputs] of y's type, or none; none where it adds
  at::Tensor y;          ///< [rows, outputs] of that type or float32
  bool adds = false;
};

/// Products by cuBLASLt, whose sums are in float32. For rows of a bucket (see row_bucket()), and weights of a shape,
/// they all run one algorithm: the fastest of those that cuBLASLt suggests. They are timed, on the stream, when the
/// first such product runs outside of a graph's capture: for its own bucket and all smaller ones, once for all engines
/// of the process on a device. In a capture, what was not timed before runs the first suggestion; the
/// first product of all is not in one. For one thread at a time, and one device.
class cublaslt_products {
 public:
  /// Of a buffer that products use for their own; allocated by the first one.
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  /// Enqueues the product on the current stream. False if cuBLASLt has no algorithm for it, or the tensors are not as
  /// said above; then nothing was done. Throws std::runtime_error with what cuBLASLt reports.
  bool multiply(const matrix_product& product);

 private:
  struct product_form {
    int device;
    std::int64_t rows;  // of the bucket
    std::int64_t outputs;
    std::int64_t inputs;
    at::ScalarType type;
    at::ScalarType y_type;
    bool biased;
    bool adds;
    auto operator<=>(const product_form&) const = default;
  };
  using algorithm = std::optional<cublasLtMatmulAlgo_t>;  // none: cuBLASLt has none
  using algorithms = std::map<product_form, algorithm>;
  class described_product;
  struct shared_algorithms;

  struct destroy {
    void operator()(cublasLtHandle_t handle) const noexcept { cublasLtDestroy(handle); }
  };

  static shared_algorithms& of_all_engines();
  static product_form form_of(const matrix_product& product);
  algorithm chosen_for(const matrix_product& product);
  algorithm fastest(const product_form& form, const matrix_product& product);
  std::optional<float> time_of(const cublasLtMatmulAlgo_t& choice, const matrix_product& product);
  std::vector<cublasLtMatmulAlgo_t> suggestions(const product_form& form, int most);
  cublasStatus_t run(const matrix_product& product, const cublasLtMatmulAlgo_t& choice);
  void make_ready();

  std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, destroy> handle_;
  at::Tensor workspace_;
  algorithms chosen_;
};

}  // namespace cogen::device
