#pragma once

#include "network/nn/device/device_kv_layer.hpp"
#include "network/nn/device/device_step.hpp"
#include "network/nn/workspace.hpp"

#include <cogen/model.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::nn {

/// What a workspace keeps for a model on a device. Members have ended on the device when they return.
class device_workspace final : public network_memory {
 public:
  /// The model must outlive all other calls; `identity` is what no other model has.
  device_workspace(const device_model& model, std::shared_ptr<const void> identity);

  /// Runs the batch, and writes its logits to host memory, [outputs, vocabulary] float32.
  void run(const batch& batch, device_kv& kv, const at::Tensor& logits);

  /// Reads encoder inputs into their slots, one at a time, so that each is the same bits in any batch.
  void encode(const encoder_batch& batch, device_kv& kv);

  const std::shared_ptr<const void>& identity() const noexcept { return identity_; }
  std::int64_t bytes() const noexcept override;

 private:
  void make_room(std::int64_t tokens, std::int64_t vocabulary, const cache::device_cache& kv);
  void put_in_order(const batch& batch);

  const device_model& model_;
  const std::shared_ptr<const void> identity_;
  const std::shared_ptr<const device::backend> backend_;
  const std::unique_ptr<device::operators> operators_;
  std::optional<device_step> step_;
  at::Tensor logits_;  // [score_rows, vocabulary] float32

  std::vector<token_row> rows_;        // of the batch: rows of one token first
  std::vector<std::int32_t> outputs_;  // the batch's outputs, as indices into the tokens of rows_
};

}  // namespace cogen::nn
