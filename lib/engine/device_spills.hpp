#pragma once

#include "device/place.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/runner.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cogen::detail {

/// What was spilled from the slots of a device, in memory of the host, and the copies there and back, which go on
/// beside the steps. One thread uses it: the one that changes the cache. Copies that fail, or find no memory, are told
/// of, and leave nothing behind.
class device_spills {
 public:
  /// Both outlive it.
  device_spills(const device::place& where, cache::device_cache& slots);

  /// Waits for the copies on their way.
  ~device_spills();

  /// After all that `work` was given so far.
  void begin(const scheduler::spilling& what, device::queue& work, transfer_listener& told) noexcept;
  void begin(const scheduler::restoring& what, device::queue& work, transfer_listener& told) noexcept;
  void drop(scheduler::ticket name) noexcept { kept_.erase(name); }

  /// What failed since the last time is forgotten, and slots that were to be filled are empty. Before a plan is
  /// applied.
  void clear_lost();

 private:
  struct loss {
    scheduler::ticket name;
    int slot;  ///< to be cleared; -1: none
  };

  void copy(const at::Tensor& to, const at::Tensor& from, device::queue& work, loss if_it_fails,
            transfer_listener& told);
  void ended(loss if_it_fails, const std::exception_ptr& error, transfer_listener& told) noexcept;

  const device::place& where_;
  cache::device_cache& slots_;
  const std::unique_ptr<device::queue> copies_;
  std::unordered_map<scheduler::ticket, at::Tensor> kept_;  // [2 * layers, length, kv_heads * head_dim]

  std::mutex mutex_;  // guards the two below
  std::vector<loss> lost_;
  int on_their_way_ = 0;
  std::condition_variable none_left_;
};

}  // namespace cogen::detail
