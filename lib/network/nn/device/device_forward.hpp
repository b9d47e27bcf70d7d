#pragma once

#include "network/nn/device/device_kv_layer.hpp"
#include "network/nn/device/encoder_reader.hpp"
#include "network/nn/device/step_block.hpp"
#include "network/nn/workspace.hpp"

#include <cogen/model.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::nn {

/// The forwards of one workspace with a model on a device: their inputs and intermediate tensors, kept between them.
class device_forward final : public network_memory {
 public:
  explicit device_forward(device_model model);

  /// Runs the batch, and writes its logits to host memory, [outputs, vocabulary] float32. Has ended when it returns.
  void run(const batch& batch, device_kv& kv, const at::Tensor& logits);

  /// Reads encoder inputs into their slots. Has ended when it returns.
  void encode(const encoder_batch& batch, device_kv& kv);

  const device_network* network() const noexcept { return model_.network.get(); }
  std::int64_t bytes() const noexcept override;

 private:
  void make_room(std::int64_t tokens, std::int64_t vocabulary, const cache::device_cache& kv);
  void put_in_order(const batch& batch);
  at::Tensor last_hidden(const device_kv& kv);

  const device_model model_;
  const std::unique_ptr<device::operators> operators_;
  std::optional<step_block> block_;
  device_scratch scratch_;
  at::Tensor last_;    // [slots] int32, read by no forward: each token is given
  at::Tensor logits_;  // [score_rows, vocabulary] float32

  std::vector<token_row> rows_;        // of the batch: rows of one token first
  std::vector<std::int32_t> outputs_;  // the batch's outputs, as indices into the tokens of rows_
};

}  // namespace cogen::nn
