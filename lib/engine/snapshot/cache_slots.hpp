#pragma once

#include <cogen/detail/cache/slot_table.hpp>
#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/cache/transfer.hpp>
#include <cogen/detail/slot_fork.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace cogen::detail {

/// Memory for the bytes of a slot.
using host_bytes = std::shared_ptr<std::byte[]>;

/// The slots of a cache on any backend: how a step changes them before its rows run, and how their contents are copied
/// to host memory and back while steps go on. Only the thread that launches steps may use it.
class cache_slots {
 public:
  virtual ~cache_slots() = default;

  virtual int count() const noexcept = 0;
  virtual void clear(int slot) = 0;
  virtual void truncate(int slot, int length) = 0;
  virtual void release(int slot, int length) = 0;
  virtual void fork(const slot_fork& fork) = 0;

  /// Lets the slot go back to its present length until it is cut below that, or the checkpoint is dropped. False, with
  /// nothing changed, if memory is refused. Default: nothing, for caches of which limits.checkpoint_bytes is 0.
  virtual bool take_checkpoint(int /*slot*/) { return true; }
  virtual void drop_checkpoint(int /*slot*/, int /*length*/) {}

  /// Tokens of the slot's encoder input.
  virtual int encoder_input(int slot) const = 0;

  /// Describes the bytes that copy_out() writes for a slot of `length` tokens.
  virtual std::vector<cache::exported_run> runs(int slot, int length) const = 0;

  /// Whether the numbers that such bytes hold are finite, as far as the slots know where numbers are. Any thread.
  virtual bool is_finite(std::span<const std::byte> /*exported*/, int /*length*/, int /*encoder_input*/) const {
    return true;
  }

  // Memory that copy_out() can write and copy_in() can read. Any thread.

  /// May take long: not for the thread that launches steps.
  virtual host_bytes allocate(std::size_t bytes) const = 0;

  /// Takes no time; null where allocate() might.
  virtual host_bytes try_allocate(std::size_t bytes) const = 0;

  // Both begin a copy that ends with a job of `transfer`, which calls `done` as transfer::start() does. Until then the
  // slot and the bytes must neither change nor go away. If a member throws, `done` is not called.

  virtual void copy_out(int slot, int length, std::span<std::byte> target, cache::transfer& transfer,
                        cache::transfer::callback done) = 0;

  /// Fills the empty slot. Throws std::invalid_argument for a wrong number of bytes. If it throws or the copy fails,
  /// the slot must be cleared.
  virtual void copy_in(int slot, int length, std::span<const std::byte> source, int encoder_input,
                       cache::transfer& transfer, cache::transfer::callback done) = 0;
};

}  // namespace cogen::detail
