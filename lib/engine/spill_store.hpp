#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/cache/transfer.hpp>
#include <cogen/runner.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cogen::detail {

/// What was spilled from the slots of a cache, and the transfers there and back. One thread uses it: the one that
/// changes the cache. Transfers that fail, or find no memory, are told of, and leave nothing behind.
class spill_store {
 public:
  /// The cache outlives it. Without a transfer, a thread of its own copies, from the first time on.
  spill_store(cache::cache& slots, std::shared_ptr<cache::transfer> by);

  /// Waits for the transfers on their way.
  ~spill_store();

  void begin(const scheduler::spilling& what, transfer_listener& told) noexcept;
  void begin(const scheduler::restoring& what, transfer_listener& told) noexcept;
  void drop(scheduler::ticket name) noexcept { kept_.erase(name); }

  /// What failed since the last time is forgotten, and slots that were to be filled are empty. Before a plan is
  /// applied.
  void clear_lost();

 private:
  struct image {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    int source = 0;  ///< tokens
  };
  struct loss {
    scheduler::ticket name;
    int slot;  ///< to be cleared; -1: none
  };

  std::shared_ptr<image> make_image(int slot) const;
  void start(std::vector<cache::byte_copy> copies, std::shared_ptr<image> held, loss if_it_fails,
             transfer_listener& told);
  void ended(loss if_it_fails, std::exception_ptr error, transfer_listener& told) noexcept;

  cache::cache& slots_;
  std::shared_ptr<cache::transfer> by_;
  std::unordered_map<scheduler::ticket, std::shared_ptr<image>> kept_;

  std::mutex mutex_;  // guards the two below
  std::vector<loss> lost_;
  int on_their_way_ = 0;
  std::condition_variable none_left_;
};

}  // namespace cogen::detail
