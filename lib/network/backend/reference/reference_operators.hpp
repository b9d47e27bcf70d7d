#pragma once

#include "network/backend/tensor/tensor_operators.hpp"

namespace cogen::device {

/// Everything in LibTorch's operators. Runs where its tensors are. Quantized tokens are stored dequantized.
class reference_operators : public tensor_operators {
 public:
  /// For forwards whose bits do not depend on their batch, or for others.
  explicit reference_operators(bool batch_invariant = false) : batch_invariant_(batch_invariant) {}

  bool runs_single_tokens() const noexcept override { return batch_invariant_; }
  std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                    std::int64_t head_dim) override;
  cache::quantized_head quantized_head_numbers(const cache::group_format& keys, const cache::group_format& values,
                                               std::int64_t head_dim) const override;
  quantized_rows pack(const quantized_rows& rows) override { return rows; }
  void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                         const step_rows& rows, const cache::device_layer& layer) override;
  void sample(const at::Tensor& logits, const step_sampling& params, const at::Tensor& last,
              const step_samples& samples) override;

 private:
  at::Tensor weights_of(const projection& linear, std::int64_t inputs) const override;
  bool multiplies_groups(const at::Tensor&) const override { return true; }
  at::Tensor quantized_tokens(const cache::device_layer& layer, int plane) const override;
  std::int64_t places_to_read(const at::Tensor& lengths, std::int64_t places) const override;

  const bool batch_invariant_;
};

}  // namespace cogen::device
