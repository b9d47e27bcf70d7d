#pragma once

#include "network/backend/backend.hpp"
#include "network/nn/device/device_memory.hpp"
#include "network/nn/device/step_block.hpp"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace cogen::nn {

/// Copies for a cache in host memory, concurrent with a step. While one layer computes, the next one's keys and values
/// are copied to the device; new tokens are copied back. Members only enqueue work, which the streams keep in order.
class kv_prefetcher final : public layer_prefetcher {
 public:
  /// The arguments must outlive this object. Steps run on `work`.
  kv_prefetcher(const device::backend& where, device::stream& work, const cache::device_cache& memory);

  /// Begins a step with these rows and fetches the first layer. The cache's lengths must be those before the step.
  void begin(std::span<const token_row> rows);
  void wait_layer(int layer) override;
  void store_layer(int layer) override;

  /// Makes later work on `work` wait until all new tokens have been copied back.
  void end();

 private:
  struct moved_row {
    int slot;
    int held;
    int count;
  };

  void fetch(int layer);
  int& on_device(int layer) { return on_device_[static_cast<std::size_t>(layer) % on_device_.size()]; }

  device::stream& work_;
  const cache::device_cache& memory_;
  const std::unique_ptr<device::stream> coming_;
  const std::unique_ptr<device::stream> going_;
  std::vector<moved_row> rows_;
  std::array<int, 2> on_device_ = {};  // the layer whose tokens are in each of the cache's buffers
  int newest_ = -1;                    // the last layer that was read for the first time in this step
};

}  // namespace cogen::nn
