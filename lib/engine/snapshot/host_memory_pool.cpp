#include "engine/snapshot/host_memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

namespace cogen::detail {
namespace {

/// Eight sizes to each power of two, so that similar sizes share memory with little waste.
std::size_t block_size(std::size_t bytes) {
  constexpr std::size_t least = 4096;
  const auto between = std::max(std::bit_floor(bytes) / 8, least);
  return std::max(bytes + between - 1, between) / between * between;
}

}  // namespace

/// The blocks, of which those in use are counted. Lists only hand over their nodes, which neither allocates nor throws.
struct host_memory_pool::shelf {
  explicit shelf(std::size_t most) : limit(most) {}

  /// Empty if there is none.
  blocks take(std::size_t size) {
    blocks taken;
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(unused, size, &block::size);
    if (found != unused.end()) taken.splice(taken.begin(), unused, found);
    return taken;
  }

  /// Counts a new block, and takes out what has been unused for the longest time until all are within the limit.
  blocks make_room(std::size_t size) {
    const std::lock_guard lock(mutex);
    bytes += size;
    return shrink(limit);
  }

  /// Counts a block no longer, and takes out all that are unused.
  blocks clear(std::size_t size) {
    const std::lock_guard lock(mutex);
    bytes -= size;
    return shrink(0);
  }

  blocks end() {
    const std::lock_guard lock(mutex);
    ended = true;
    return shrink(0);
  }

  void give_back(blocks single) noexcept {
    const std::lock_guard lock(mutex);
    if (!ended) unused.splice(unused.end(), single);
  }

  blocks shrink(std::size_t most) {
    blocks freed;
    while (bytes > most && !unused.empty()) {
      bytes -= unused.front().size;
      freed.splice(freed.end(), unused, unused.begin());
    }
    return freed;
  }

  const std::size_t limit;
  std::mutex mutex;  // guards what follows
  blocks unused;     // the one returned last is the last
  std::size_t bytes = 0;
  bool ended = false;
};

host_memory_pool::host_memory_pool(allocator pinned, std::int64_t limit)
    : pinned_(std::move(pinned)),
      shelf_(std::make_shared<shelf>(static_cast<std::size_t>(std::max<std::int64_t>(limit, 0)))) {}

host_memory_pool::~host_memory_pool() { shelf_->end(); }

host_bytes host_memory_pool::take(std::size_t bytes) const {
  auto found = shelf_->take(block_size(bytes));
  return found.empty() ? nullptr : lend(shelf_, std::move(found));
}

host_bytes host_memory_pool::allocate(std::size_t bytes) const {
  if (auto found = take(bytes)) return found;
  auto single = make(block_size(bytes));
  return single.empty() ? std::make_shared_for_overwrite<std::byte[]>(bytes) : lend(shelf_, std::move(single));
}

std::size_t host_memory_pool::size() const {
  const std::lock_guard lock(shelf_->mutex);
  return shelf_->bytes;
}

/// Empty if it is refused while no other block is unused.
host_memory_pool::blocks host_memory_pool::make(std::size_t size) const {
  blocks single(1, {size, nullptr});
  for (;;) {
    shelf_->make_room(size).clear();
    try {
      single.front().memory = pinned_(size);
      return single;
    } catch (const std::bad_alloc&) {
      if (shelf_->clear(size).empty()) return {};
    } catch (...) {
      shelf_->clear(size);
      throw;
    }
  }
}

host_bytes host_memory_pool::lend(std::shared_ptr<shelf> owner, blocks single) {
  auto* const bytes = single.front().memory.get();
  return {bytes, [owner = std::move(owner), single = std::move(single)](std::byte*) mutable {
            owner->give_back(std::move(single));
          }};
}

}  // namespace cogen::detail
