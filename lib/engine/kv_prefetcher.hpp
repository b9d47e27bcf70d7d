#pragma once

#include "device/backend.hpp"
#include "models/device_network.hpp"

#include <cogen/scheduler/plan.hpp>

#include <memory>
#include <span>
#include <vector>

namespace cogen::detail {

/// Copies beside a step: what the next layer holds comes from the host while one computes, and new tokens go back.
/// Everything is only begun here, in an order that the queues keep.
class kv_prefetcher final : public models::layer_prefetcher {
 public:
  /// All outlive it. Steps run on `work`.
  kv_prefetcher(const device::backend& where, device::stream& work, const cache::device_cache& memory);

  /// A step with these rows begins; the cache's lengths are those before it.
  void begin(std::span<const scheduler::row> rows);
  void wait_layer(int layer) override;
  void store_layer(int layer) override;

  /// What `work` does from here on comes after all new tokens have gone back.
  void end();

 private:
  struct moved_row {
    int slot;
    int held;
    int count;
  };

  void fetch(int layer);

  device::stream& work_;
  const cache::device_cache& memory_;
  const std::unique_ptr<device::stream> coming_;
  const std::unique_ptr<device::stream> going_;
  std::vector<moved_row> rows_;
};

}  // namespace cogen::detail
