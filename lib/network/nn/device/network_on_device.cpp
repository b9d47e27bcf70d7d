#include "network/nn/device/network_on_device.hpp"

#include "network/nn/device/device_forward.hpp"
#include "network/nn/device/device_texts.hpp"
#include "network/nn/workspace.hpp"

#include <cogen/extend/tensors.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace cogen::nn {

network_on_device::network_on_device(device_model model) : model_(std::move(model)) {}

cache::cache network_on_device::make_cache(const cache::options& options, const cache::layer_factory& own) const {
  return make_cache_on(model_, options, own);
}

/// Throws std::invalid_argument for a workspace that computes otherwise.
device_forward& network_on_device::forward_in(scratch& scratch) const {
  if (scratch.mode != compute_type::float32)
    throw std::invalid_argument(fmt::format(
        "the workspace's compute type is int8; models on {} compute in float32 alone", model_.backend->name()));
  auto* kept = dynamic_cast<device_forward*>(scratch.on_device.get());
  if (kept && kept->network() == model_.network.get()) return *kept;
  auto own = std::make_unique<device_forward>(model_);
  auto& result = *own;
  scratch.on_device = std::move(own);
  return result;
}

void network_on_device::forward(const batch& batch, cache::cache& cache, scratch& scratch,
                                const matrix_view& logits) const {
  auto& runner = forward_in(scratch);
  runner.run(batch, kv_on(model_, cache), tensor_of(logits));
}

void network_on_device::embed(std::span<const encoder_text> texts, scratch& scratch, const matrix_view& vectors) const {
  if (!pooling()) return network::embed(texts, scratch, vectors);
  embed_on_device(model_, texts, vectors);
}

void network_on_device::encode(const encoder_batch& batch, cache::cache& cache, scratch& scratch) const {
  if (!has_encoder()) return network::encode(batch, cache, scratch);
  auto& runner = forward_in(scratch);
  runner.encode(batch, kv_on(model_, cache));
}

std::string_view network_on_device::weight_type() const noexcept {
  switch (model_.network->type()) {
    case at::kHalf:
      return "f16";
    case at::kFloat:
      return "f32";
    default:
      return "bf16";
  }
}

}  // namespace cogen::nn
