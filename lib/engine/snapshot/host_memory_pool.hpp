#pragma once

#include "engine/snapshot/cache_slots.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace cogen::detail {

/// Host memory of snapshots, from an allocator that takes long, as pinned memory does. What is returned is kept for the
/// next snapshot of about that size. Thread-safe; blocks may outlive the pool.
///
/// The engine's thread only calls take(), which allocates nothing that takes long. Where that finds no block, the swap
/// waits for allocate(), which a job of the engine's transfer calls, and steps go on meanwhile. All blocks together
/// take at most `limit` bytes, or those in use at one time where these were more. Sizes are rounded up by less than an
/// eighth, and to 4 KiB.
///
/// A block is freed by allocate(), by the destructor, or if the pool is gone, where it is returned. Returning it to the
/// pool frees nothing, so that may happen in the callback of a device's stream.
class host_memory_pool {
 public:
  /// May throw std::bad_alloc. The end of the memory frees it, and must not throw.
  using allocator = std::function<host_bytes(std::size_t bytes)>;

  host_memory_pool(allocator pinned, std::int64_t limit);
  ~host_memory_pool();
  host_memory_pool(const host_memory_pool&) = delete;
  host_memory_pool& operator=(const host_memory_pool&) = delete;

  /// A block that was returned; null if there is none of this size.
  host_bytes take(std::size_t bytes) const;

  /// The same, or a new block. Unused blocks are freed for it where the limit asks for that, and where the allocator
  /// throws std::bad_alloc. If it still does, the memory is pageable: copies are correct, and slower, since the
  /// engine's thread waits for them. Throws std::bad_alloc if there is none of that either, and what else the allocator
  /// throws.
  host_bytes allocate(std::size_t bytes) const;

  /// Bytes of all blocks, in use or not.
  std::size_t size() const;

 private:
  struct block {
    std::size_t size;
    host_bytes memory;
  };
  using blocks = std::list<block>;
  struct shelf;

  blocks make(std::size_t size) const;
  static host_bytes lend(std::shared_ptr<shelf> owner, blocks single);

  const allocator pinned_;
  const std::shared_ptr<shelf> shelf_;
};

}  // namespace cogen::detail
