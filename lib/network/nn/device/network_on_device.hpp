#pragma once

#include "network/backend/backend.hpp"
#include "network/nn/device/device_network.hpp"
#include "network/nn/network.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cogen::nn {

class device_forward;

/// A network on a device, and its backend.
struct device_model {
  std::shared_ptr<const device::backend> backend;
  std::shared_ptr<const device_network> network;
  std::shared_ptr<parallel::rank_group> ranks = nullptr;  ///< null: this process has the whole model
};

/// The network of a model on a device. Engines run it by itself; forward() is for loops without one.
class network_on_device final : public network {
 public:
  explicit network_on_device(device_model model);

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override {
    return model_.network->kv_cache_specs();
  }
  cache::cache make_cache(const cache::options& options, const cache::layer_factory& own) const override;
  void forward(const batch& batch, cache::cache& cache, scratch& scratch, const matrix_view& logits) const override;
  bool generates() const noexcept override { return model_.network->generates(); }
  const pooler* pooling() const noexcept override { return model_.network->pooling(); }
  void embed(std::span<const encoder_text> texts, scratch& scratch, const matrix_view& vectors) const override;
  bool has_encoder() const noexcept override { return model_.network->has_encoder(); }
  bool has_position_table() const noexcept override { return model_.network->has_position_table(); }
  void encode(const encoder_batch& batch, cache::cache& cache, scratch& scratch) const override;
  std::int64_t weight_bytes() const noexcept override { return model_.network->weight_bytes(); }
  std::string_view weight_type() const noexcept override;
  std::string device() const override { return model_.backend->name(); }
  const device_model* on_device() const noexcept override { return &model_; }
  parallel::rank_group* ranks() const noexcept override { return model_.ranks.get(); }

 private:
  device_forward& forward_in(scratch& scratch) const;

  device_model model_;
};

}  // namespace cogen::nn
