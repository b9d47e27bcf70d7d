#pragma once

#include "engine/packed_image.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/cache/transfer.hpp>
#include <cogen/engine_options.hpp>
#include <cogen/runner.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cogen::detail {

/// Where what is spilled has room, and how it is kept there.
struct spill_room {
  std::int64_t bytes = 0;            ///< of memory, before anything goes to the file
  std::shared_ptr<spill_file> file;  ///< null: everything stays in memory
  spill_format format = spill_format::exact;
};

/// What was spilled from the slots of a cache, and the transfers there and back. One thread uses it: the one that
/// changes the cache. Transfers that fail, or find no memory, are told of, and leave nothing behind.
class spill_store {
 public:
  /// The cache outlives it. Without a transfer, a thread of its own copies, from the first time on.
  spill_store(cache::cache& slots, std::shared_ptr<cache::transfer> by, spill_room room);

  /// Waits for the transfers on their way.
  ~spill_store();

  void begin(const scheduler::spilling& what, transfer_listener& told) noexcept;
  void begin(const scheduler::restoring& what, transfer_listener& told) noexcept;
  void drop(scheduler::ticket name) noexcept { kept_.erase(name); }

  /// What a spill that has ended has left; null where there is none.
  std::shared_ptr<const slot_image> image(scheduler::ticket name) const;

  /// As if it had been spilled. It stays where it is.
  void keep(scheduler::ticket name, std::shared_ptr<const slot_image> what) { kept_[name] = std::move(what); }

  /// What failed since the last time is forgotten, and slots that were to be filled are empty. Before a plan is
  /// applied.
  void clear_lost();

 private:
  struct loss {
    scheduler::ticket name;
    int slot;  ///< to be cleared; -1: none
  };

  std::shared_ptr<stored_image> make_image(int slot) const;
  std::shared_ptr<packed_image> make_packed(const scheduler::spilling& what) const;
  void find_room(stored_image& made) const;
  void read_first(const scheduler::restoring& what, std::shared_ptr<const slot_image> held, transfer_listener& told);
  void fill(const scheduler::restoring& what, std::shared_ptr<const slot_image> held, std::span<const std::byte> bytes,
            transfer_listener& told);
  template <class Done>
  void start(std::vector<cache::byte_copy> copies, Done done);
  void ended(loss if_it_fails, std::exception_ptr error, transfer_listener& told) noexcept;

  cache::cache& slots_;
  std::shared_ptr<cache::transfer> by_;
  const spill_room room_;
  const std::shared_ptr<std::atomic<std::int64_t>> in_memory_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::unordered_map<scheduler::ticket, std::shared_ptr<const slot_image>> kept_;

  std::mutex mutex_;  // guards the two below
  std::vector<loss> lost_;
  int on_their_way_ = 0;
  std::condition_variable none_left_;
};

}  // namespace cogen::detail
