#pragma once

#include "backend/backend.hpp"
#include "nn/device_network.hpp"
#include "nn/network.hpp"

#include <memory>
#include <string>
#include <vector>

namespace cogen::nn {

/// A network on a device, and its backend.
struct device_model {
  std::shared_ptr<const device::backend> backend;
  std::shared_ptr<const device_network> network;
};

/// The network of a model on a device: engines run it; forward() throws std::logic_error.
class network_on_device final : public network {
 public:
  explicit network_on_device(device_model model);

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override {
    return model_.network->kv_cache_specs();
  }
  void forward(const cpu::forward_context& context, std::span<const token> tokens, std::span<const int> outputs,
               const cpu::activations& logits) const override;
  std::int64_t weight_bytes() const noexcept override { return model_.network->weight_bytes(); }
  std::string_view weight_type() const noexcept override;
  const device_model* on_device() const noexcept override { return &model_; }

 private:
  device_model model_;
};

}  // namespace cogen::nn
