#pragma once

#include "device/backend.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/extend/runner.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cogen::detail {

/// What was swapped out from the slots of a device, in memory of the host, and the copies there and back, which go on
/// beside the steps. One thread uses it: the one that changes the cache. Copies that fail, or find no memory, are told
/// of, and leave nothing behind.
class device_swap {
 public:
  /// Both outlive it.
  device_swap(const device::backend& where, cache::device_cache& slots);

  /// Waits for the copies on their way.
  ~device_swap();

  /// After all that `work` was given so far.
  void begin(const scheduler::swapping_out& what, device::stream& work, swap_listener& listener) noexcept;
  void begin(const scheduler::swapping_in& what, device::stream& work, swap_listener& listener) noexcept;
  void drop(scheduler::swap_id name) noexcept { kept_.erase(name); }

  /// What failed since the last time is forgotten, and slots that were to be filled are empty. Before a plan is
  /// applied.
  void clear_lost();

 private:
  struct loss {
    scheduler::swap_id name;
    int slot;  ///< to be cleared; -1: none
  };

  using parts = std::vector<at::Tensor>;  // as device_cache::parts_of()

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
