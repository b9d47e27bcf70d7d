#pragma once

#include "backend/backend.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/extend/runner.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cogen::detail {

/// Swaps slots of a device out to host memory and back in, concurrently with steps. Only the thread that changes the
/// cache may use it. A swap that fails, or finds no memory, is reported to the listener and leaves nothing behind.
class device_swap {
 public:
  /// Both arguments must outlive this object.
  device_swap(const device::backend& where, cache::device_cache& slots);

  /// Waits for the copies in progress.
  ~device_swap();

  /// Begins a swap, after all work enqueued on `work` so far.
  void begin(const scheduler::swapping_out& what, device::stream& work, swap_listener& listener) noexcept;
  void begin(const scheduler::swapping_in& what, device::stream& work, swap_listener& listener) noexcept;
  void drop(scheduler::swap_id name) noexcept { kept_.erase(name); }

  /// Drops the snapshots of swaps that have failed since the last call, and clears the slots that they were to fill.
  /// Call it before a step is applied.
  void clear_lost();

 private:
  struct loss {
    scheduler::swap_id name;
    int slot;  ///< to clear; -1: none
  };

  using parts = std::vector<at::Tensor>;  // as device_cache::parts_of() gives them

  void copy(const parts& to, const parts& from, device::stream& work, loss if_it_fails, swap_listener& listener);
  void ended(loss if_it_fails, const std::exception_ptr& error, swap_listener& listener) noexcept;

  const device::backend& where_;
  cache::device_cache& slots_;
  const std::unique_ptr<device::stream> copies_;
  std::unordered_map<scheduler::swap_id, parts> kept_;

  std::mutex mutex_;  // guards the two below
  std::vector<loss> lost_;
  int on_their_way_ = 0;
  std::condition_variable none_left_;
};

}  // namespace cogen::detail
