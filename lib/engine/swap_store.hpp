#pragma once

#include "engine/compressed_snapshot.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/cache/transfer.hpp>
#include <cogen/engine_options.hpp>
#include <cogen/extend/runner.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cogen::detail {

/// Where what is swapped out has room, and how it is kept there.
struct swap_room {
  std::int64_t bytes = 0;           ///< of memory, before anything goes to the file
  std::shared_ptr<swap_file> file;  ///< null: everything stays in memory
  swap_format format = swap_format::exact;
};

/// What was swapped out from the slots of a cache, and the transfers there and back. One thread uses it: the one that
/// changes the cache. Transfers that fail, or find no memory, are told of, and leave nothing behind.
class swap_store {
 public:
  /// The cache outlives it. Without a transfer, a thread of its own copies, from the first time on.
  swap_store(cache::cache& slots, std::shared_ptr<cache::transfer> by, swap_room room);

  /// Waits for the transfers on their way.
  ~swap_store();

  void begin(const scheduler::swapping_out& what, swap_listener& listener) noexcept;
  void begin(const scheduler::swapping_in& what, swap_listener& listener) noexcept;
  void drop(scheduler::swap_id name) noexcept { kept_.erase(name); }

  /// What a swap-out that has ended has left; null where there is none.
  std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id name) const;

  /// As if it had been swapped out. It stays where it is.
  void keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> what) { kept_[name] = std::move(what); }

  /// What failed since the last time is forgotten, and slots that were to be filled are empty. Before a plan is
  /// applied.
  void clear_lost();

 private:
  struct loss {
    scheduler::swap_id name;
    int slot;  ///< to be cleared; -1: none
  };

  std::shared_ptr<stored_snapshot> make_snapshot(int slot) const;
  std::shared_ptr<compressed_snapshot> make_packed(const scheduler::swapping_out& what) const;
  void find_room(stored_snapshot& made) const;
  void read_first(const scheduler::swapping_in& what, std::shared_ptr<const kv_snapshot> held, swap_listener& listener);
  void fill(const scheduler::swapping_in& what, std::shared_ptr<const kv_snapshot> held,
            std::span<const std::byte> bytes, swap_listener& listener);
  template <class Done>
  void start(std::vector<cache::byte_copy> copies, Done done);
  void ended(loss if_it_fails, std::exception_ptr error, swap_listener& listener) noexcept;

  cache::cache& slots_;
  std::shared_ptr<cache::transfer> by_;
  const swap_room room_;
  const std::shared_ptr<std::atomic<std::int64_t>> in_memory_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::unordered_map<scheduler::swap_id, std::shared_ptr<const kv_snapshot>> kept_;

  std::mutex mutex_;  // guards the two below
  std::vector<loss> lost_;
  int on_their_way_ = 0;
  std::condition_variable none_left_;
};

}  // namespace cogen::detail
