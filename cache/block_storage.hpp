#pragma once

#include "address_range.hpp"
#include "block_layout.hpp"

#include <cogen/cache/memory_terms.hpp>
#include <cogen/cache/slot_table.hpp>
#include <cogen/cache/step.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen::cache {

/// The keys and values of several layers for all slots: one growing range of addresses for each slot, in blocks of 64
/// tokens. No two blocks share a page.
///
/// A slot owns the blocks [begin, end); those before `begin` are its base's and are read there.
class block_storage {
 public:
  /// `table` outlives the storage. Throws std::system_error where address space is refused, std::length_error where it
  /// would exceed 63 bits.
  block_storage(block_layout layout, const slot_table& table, int max_length);

  int max_length() const noexcept { return max_length_; }
  const block_layout& layout() const noexcept { return layout_; }

  /// Where block 0 of the slot is, or would be.
  std::byte* slot_data(int slot) const noexcept { return memory_.data() + slot * slot_stride_; }

  /// Tokens the slot has memory for, its base included.
  int room(int slot) const;

  /// Makes room, for all rows or for none. Throws std::system_error where memory is refused.
  void reserve(const step& step);

  void truncate(int slot, int length);
  void adopt(int slot, int length);
  void copy(int from, int to, int begin, int end);

  std::int64_t exported_bytes(int length) const { return blocks_for(length) * layout_.stride; }
  void export_slot(int slot, std::byte* into) const;
  void import_slot(int slot, int length, const std::byte* from);

  memory_terms footprint_terms() const { return {.fixed = 0, .per_block = layout_.stride}; }
  std::int64_t committed_bytes() const;

 private:
  struct blocks {
    int begin = 0;
    int end = 0;
  };

  blocks& owned(int slot) { return owned_[static_cast<std::size_t>(slot)]; }
  const blocks& owned(int slot) const { return owned_[static_cast<std::size_t>(slot)]; }
  std::byte* block(int slot, int number) const { return slot_data(slot) + number * layout_.stride; }
  const std::byte* readable_block(int slot, int number) const;

  void grow(int slot, int length);
  void release(int slot, blocks range) noexcept;
  void leave_base_within_block(int slot, int length);
  void copy_within_block(int from, int to, int begin, int end);
  void copy_blocks(int from, blocks range, std::byte* into) const;

  const slot_table& table_;
  block_layout layout_;
  int max_length_;
  std::int64_t slot_stride_;
  address_range memory_;
  std::vector<blocks> owned_;   // [slots]
  std::vector<blocks> before_;  // [slots], what a failing reserve() goes back to
};

}  // namespace cogen::cache
