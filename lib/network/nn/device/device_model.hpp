#pragma once

#include "network/backend/backend.hpp"
#include "network/backend/collectives.hpp"
#include "network/backend/operators.hpp"
#include "network/backend/tensor_weights.hpp"
#include "network/nn/decoder.hpp"
#include "network/nn/device/device_memory.hpp"
#include "network/nn/device/device_scratch.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cogen::nn {

class device_workspace;

/// A network with weights on a device. What runs steps by itself, as an engine does, makes its passes by the members
/// that take operators: they only enqueue work, and one thread at a time uses a scratch and a cache. The others are for
/// loops without an engine, and have ended on the device when they return.
struct device_model final : decoder<device::tensors> {
  /// `shared_by` are those that share the model, of `ranks` if they are other processes; null if it is whole. Then
  /// all of them make the same calls in the same order. Throws std::invalid_argument for what devices do not run.
  device_model(std::shared_ptr<const device::backend> where, const models::model_spec& spec,
               const load::model_config& config, device::tensor_weights& weights,
               std::shared_ptr<device::collectives> shared_by = nullptr,
               std::shared_ptr<parallel::rank_group> ranks = nullptr);

  const std::shared_ptr<const device::backend> backend;
  const std::shared_ptr<device::collectives> collectives;

  cache::cache make_cache(const cache::options& options, const cache::layer_factory& own) const override;
  void forward(const batch& batch, cache::cache& cache, scratch& scratch, const matrix_view& logits) const override;
  void embed(std::span<const encoder_text> texts, scratch& scratch, const matrix_view& vectors) const override;
  void encode(const encoder_batch& batch, cache::cache& cache, scratch& scratch) const override;
  std::string_view weight_type() const noexcept override;
  std::string device() const override { return backend->name(); }
  const device_model* on_device() const noexcept override { return this; }
  parallel::rank_group* ranks() const noexcept override { return ranks_.get(); }

  /// The type of weights and activations.
  at::ScalarType type() const noexcept { return embedding_->table.type(); }

  /// As models::batch_variant_part().
  std::optional<std::string_view> batch_variant_part() const noexcept { return batch_variant_part_; }

  /// How much further the vectors of positions in a pair's second text are.
  std::int64_t second_text() const noexcept { return embedding_->second_text; }

  /// For caches with sinks or without. Throws std::invalid_argument if the model keeps none.
  device_scratch make_scratch(std::int64_t tokens, bool sinks) const;

  /// Enqueues the step's forward, whose tokens go to the cache. Returns the hidden states after the tokens that
  /// `outputs` names (int32; undefined: after all), in that order: [outputs, hidden], in the scratch. `last` [slots]
  /// int32 are the tokens last sampled in each slot. Arguments are valid, and the scratch has a row for each token.
  at::Tensor forward(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                     const at::Tensor& outputs, const device_memory& memory, const device_scratch& scratch) const;

  /// Enqueues the encoder over the step's rows, each a whole encoder input. Writes what cross layers keep of them to
  /// the cache, where they do not count yet. Arguments are as those of forward(). There is an encoder.
  void encode(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
              const device_memory& memory, const device_scratch& scratch) const;

  /// Enqueues a pass over the step's rows, each a whole text. Returns hidden states as forward() does. Nothing is
  /// cached.
  at::Tensor read_texts(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                        const at::Tensor& outputs, const device_memory& memory, const device_scratch& scratch) const;

  /// logits [rows, vocabulary] float32, of rows that forward() returned. They stay as they are on ranks that do not
  /// gather.
  void score(device::operators& ops, const at::Tensor& rows, const at::Tensor& logits) const;

 private:
  at::Tensor run_step(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                      const at::Tensor& outputs, const device_memory& memory, const device_scratch& scratch) const;
  void score_own(device::operators& ops, const at::Tensor& rows, const at::Tensor& logits) const;
  void gather(const at::Tensor& part, const at::Tensor& logits) const;
  device_workspace& workspace_in(scratch& scratch) const;

  const std::shared_ptr<parallel::rank_group> ranks_;
  const std::shared_ptr<const void> identity_;  // by which a workspace knows the model, also after its end
  const std::optional<std::string_view> batch_variant_part_;
};

}  // namespace cogen::nn
