#pragma once

#include "engine/snapshot/cache_slots.hpp"
#include "engine/snapshot/compressed_snapshot.hpp"

#include <cogen/engine_options.hpp>
#include <cogen/extend/runner.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cogen::detail {

/// Where swapped-out snapshots are kept, in which format, and what moves them.
struct swap_room {
  std::int64_t bytes = 0;                ///< of memory; snapshots beyond that go to the file
  std::shared_ptr<swap_file> file = {};  ///< null: all snapshots stay in memory
  swap_format format = swap_format::exact;
  std::shared_ptr<cache::transfer> transfer = {};  ///< null: a worker thread, which starts with the first swap
};

/// Swaps slots of a cache out and back in, and keeps the snapshots. Only the thread that changes the cache may use it.
/// A swap that fails, or finds no memory, is reported to the listener and leaves nothing behind. One whose memory takes
/// long to allocate waits until a job of the transfer has done so, and goes on before a later step.
class swap_store {
 public:
  /// The slots must outlive this object.
  swap_store(cache_slots& slots, swap_room room);

  /// Waits for the transfers in progress.
  ~swap_store();

  void begin(const scheduler::swapping_out& swap, swap_listener& listener) noexcept;
  void begin(const scheduler::swapping_in& swap, swap_listener& listener) noexcept;
  void drop(scheduler::swap_id name) noexcept { kept_.erase(name); }

  /// The snapshot of a swap-out that has ended; null if there is none.
  std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id name) const;

  /// A snapshot of these bytes, which begin() can swap in.
  std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte> bytes, int encoder_input) const;

  /// Keeps a snapshot as if it had been swapped out. It is neither compressed nor moved to the file.
  void keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> snapshot) { kept_[name] = std::move(snapshot); }

  /// Drops the snapshots of swaps that have failed since the last call, and clears the slots that they were to fill.
  /// Call it before a step is applied.
  void clear_lost();

 private:
  using snapshot_maker = std::function<std::shared_ptr<stored_snapshot>()>;
  using snapshot_user = std::function<void(std::shared_ptr<stored_snapshot>)>;

  struct loss {
    scheduler::swap_id name;
    int slot;  ///< to clear; -1: none
  };

  std::shared_ptr<stored_snapshot> stored(std::size_t bytes, int encoder_input) const;
  void find_room(stored_snapshot& snapshot) const;
  void copy_out(const scheduler::swapping_out& swap, std::shared_ptr<stored_snapshot> snapshot,
                swap_listener& listener) noexcept;
  void make_first(scheduler::swap_id name, const snapshot_maker& make, const snapshot_user& use,
                  swap_listener& listener);
  void read_first(const scheduler::swapping_in& swap, std::shared_ptr<const kv_snapshot> held, swap_listener& listener);
  void fill(const scheduler::swapping_in& swap, std::shared_ptr<const kv_snapshot> held,
            std::span<const std::byte> bytes, swap_listener& listener);
  template <class Start>
  void transfer(Start start);
  void ended(loss if_it_fails, std::exception_ptr error, swap_listener& listener) noexcept;

  cache_slots& slots_;
  swap_room room_;
  const std::shared_ptr<std::atomic<std::int64_t>> in_memory_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::unordered_map<scheduler::swap_id, std::shared_ptr<const kv_snapshot>> kept_;

  std::mutex mutex_;  // guards the two below
  std::vector<loss> lost_;
  int on_their_way_ = 0;
  std::condition_variable none_left_;
};

}  // namespace cogen::detail
