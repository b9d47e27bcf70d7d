#pragma once

#include "network/kernels/int8_table.hpp"
#include "network/kernels/linear.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {

/// The rows of one product as compute_type::int8 reads them: rounded to 8 bits for quantized weights, to bf16 for
/// those.
class quantized_activations {
 public:
  /// None.
  quantized_activations() = default;

  /// Rounds the operands' rows into their scratch, in whichever forms the weights need, and before that makes those
  /// that have a maker.
  quantized_activations(const execution& run, const tiled_matrix& weights, const linear_operands& operands);

  /// Whether tiles kept like this are multiplied by these rows; others are by the operands' own.
  bool serve(weight_storage storage) const { return kernel_for(storage) != nullptr; }

  /// `job` without its rows, which begin at `first`.
  void multiply(int8_job job, std::int64_t first) const;

  /// What the scratch holds.
  static std::int64_t floats(const execution& run, const tiled_matrix& weights, std::int64_t rows);

 private:
  using kernel = void (*)(const int8_job&);

  kernel kernel_for(weight_storage storage) const {
    return storage == weight_storage::bf16 ? multiply_bf16_ : has_integers(storage) ? multiply_ : nullptr;
  }

  kernel multiply_ = nullptr;
  kernel multiply_bf16_ = nullptr;
  strided_rows<const std::byte> groups_;  // [rows, inputs / 32]
  strided_rows<const std::byte> bf16_;    // [rows, inputs, made even]
};

}  // namespace cogen::kernels
