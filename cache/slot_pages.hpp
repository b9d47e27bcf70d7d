#pragma once

#include <cogen/cache/virtual_memory.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace cogen::cache {

/// Which slots have memory, in blocks: block b of a slot is page b of its addresses in each plane. The addresses are
/// [planes, slots, slot_blocks] pages. Several slots can share a block at the same place.
///
/// A slot keeps the blocks that it no longer needs, for what comes next in it, until another slot finds no memory, or
/// trim(). A thread of its own maps blocks ahead of their need.
///
/// Members but blocks() are for one thread. Where a slot's addresses get other memory, they first wait for the work of
/// the device.
class slot_pages {
 public:
  struct shape {
    std::int64_t planes = 0;
    int slots = 0;
    int slot_blocks = 0;
  };

  /// At most `limit` blocks exist at a time. `wait` returns when the device has ended all work on the addresses, and
  /// throws its errors.
  slot_pages(std::unique_ptr<virtual_memory> memory, const shape& layout, std::int64_t limit,
             std::function<void()> wait);
  ~slot_pages();
  slot_pages(const slot_pages&) = delete;
  slot_pages& operator=(const slot_pages&) = delete;

  /// The addresses of all slots, uint8.
  at::Tensor bytes() const { return memory_->bytes(); }

  std::int64_t page_bytes() const { return memory_->page_bytes(); }

  /// The slot needs its first `count` blocks, which have memory from now on. Throws std::bad_alloc if there is not
  /// enough, and what the device throws; then nothing has changed.
  void reserve(int slot, int count);

  /// The slot needs no more than its first `count` blocks.
  void release(int slot, int count);

  /// Slot `target`, which needs none, needs the first `count` blocks of slot `source` and shares them. Throws as
  /// reserve() does; then it still needs none.
  void share(int source, int target, int count);

  /// Before block `block` of the slot, which needs it, is written: it shares it no longer. If it did, it has a new
  /// block, and the result is a slot that has the old one. Throws as reserve() does; if the device refuses to map the
  /// new block, the slot has none from `block` on.
  std::optional<int> make_writable(int slot, int block);

  /// Asks the thread to map the slot's first `count` blocks, as far as memory is unused.
  void map_ahead(int slot, int count);

  /// Gives the device the blocks back that no slot needs. Throws what it throws.
  void trim();

  /// Waits until the thread has done what it was asked for.
  void wait_ahead();

  /// Blocks with memory of the slot, whether it needs them or not.
  int mapped(int slot) const;

  /// All that exist, shared ones once. Any thread.
  std::int64_t blocks() const noexcept { return *blocks_; }

 private:
  struct block;
  using shared_block = std::shared_ptr<const block>;
  using lock = std::unique_lock<std::mutex>;

  struct slot_blocks {
    std::vector<shared_block> mapped;
    int needed = 0;
    int ahead = 0;  // blocks that the thread is asked for
  };

  slot_blocks& blocks_of(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  void wait_for_thread(lock& held);
  std::vector<shared_block> obtain(int count);
  bool reclaim(int count);
  void map(int slot, int first, std::span<const shared_block> blocks);
  void unmap(int slot, int first, int end) noexcept;
  void cut(int slot, int count) noexcept;
  int next_ahead() const;
  void run_ahead(const std::stop_token& stop);

  const std::unique_ptr<virtual_memory> memory_;
  const shape shape_;
  const std::int64_t limit_;
  const std::function<void()> wait_;
  const std::shared_ptr<std::atomic<std::int64_t>> blocks_;
  mutable std::mutex mutex_;  // of what is below
  std::condition_variable_any changed_;
  std::vector<slot_blocks> slots_;  // [slots]
  bool busy_ = false;               // the thread maps a block now, without the mutex
  bool stopped_ = false;            // it begins with no other
  std::jthread thread_;
};

}  // namespace cogen::cache
