#pragma once

#include <cogen/detail/cache/step.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen::cache {

/// The first `length` tokens of a slot, read in place by another slot. `slot` is -1 if there is none.
struct slot_parent {
  int slot = -1;
  int length = 0;
};

/// How many tokens each slot holds, and in which slot it reads its first ones. Shared by all layers of one cache.
///
/// Only bookkeeping: `cache` changes the table after its layers have changed.
class slot_table {
 public:
  /// Throws std::invalid_argument unless slots >= 1.
  explicit slot_table(int slots);

  int slots() const noexcept { return static_cast<int>(lengths_.size()); }

  /// Tokens the slot holds, its shared prefix included. Throws std::out_of_range for a slot that does not exist.
  int length(int slot) const { return lengths_[index(slot)]; }

  /// The slot that its first tokens are read in.
  slot_parent parent(int slot) const { return parents_[index(slot)]; }

  /// How many of the slot's first tokens other slots read in place; it can be neither cut nor overwritten below this.
  int pinned(int slot) const;

  /// The lengths of all slots; the address never changes. [slots]
  std::span<const std::int32_t> lengths() const noexcept { return lengths_; }

  /// Throws std::out_of_range, naming the slot, if it does not exist, or a row's does not.
  void check(int slot) const { index(slot); }
  void check(const step& step) const;

  /// Adds the step's tokens to the lengths of its slots.
  void advance(const step& step);

  /// Cuts or extends the slot to `length`; a longer shared prefix shrinks to the whole blocks in it.
  void set_length(int slot, int length);

  /// The empty slot `slot` now reads the first `parent.length` tokens of `parent.slot`.
  void set_parent(int slot, slot_parent parent);

 private:
  std::size_t index(int slot) const;

  std::vector<std::int32_t> lengths_;
  std::vector<slot_parent> parents_;
};

}  // namespace cogen::cache
