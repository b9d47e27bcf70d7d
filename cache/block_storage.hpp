#pragma once

#include "address_range.hpp"
#include "token_storage.hpp"

#include <limits>
#include <vector>

namespace cogen::cache {

/// The keys and values of several layers for all slots: one growing range of addresses for each slot, in blocks of 64
/// tokens. No two blocks share a page.
///
/// A slot owns the blocks [begin, end); those before `begin` belong to its parent and are read there.
class block_storage final : public token_storage {
 public:
  /// `table` must outlive the storage. With a `residual` it holds quantized tokens. Throws std::system_error if address
  /// space is refused, std::length_error if it would exceed 63 bits.
  block_storage(block_layout layout, const slot_table& table, int max_sequence_length,
                std::optional<int> residual = {});

  int max_sequence_length() const noexcept override { return max_sequence_length_; }
  int max_rollback_tokens() const noexcept override { return std::numeric_limits<int>::max(); }
  int max_step_tokens() const noexcept override { return std::numeric_limits<int>::max(); }
  int ranges(int slot, int length, kv_range* output) const override;
  void reserve(const step& step) override;
  bool can_truncate(int, int) const override { return true; }
  void truncate(int slot, int length) override;
  void release(int slot, int length) override { truncate(slot, length); }
  void share_prefix(int slot, int source, int length) override;
  void copy(int source, int target, int begin, int end) override;
  void take_checkpoint(int) override {}
  void drop_checkpoint(int, int) override {}
  std::int64_t exported_bytes(int length) const override { return blocks_for(stored(length)) * layout_.stride; }
  void export_slot(int slot, std::byte* output, std::vector<byte_copy>& later) const override;
  void import_slot(int slot, int length, const std::byte* input, std::vector<byte_copy>& later) override;
  slot_footprint footprint_terms() const override { return {.fixed = 0, .per_block = layout_.stride}; }
  std::int64_t committed_bytes() const override;

 private:
  struct blocks {
    int begin = 0;
    int end = 0;
  };

  blocks& owned(int slot) { return owned_[static_cast<std::size_t>(slot)]; }
  const blocks& owned(int slot) const { return owned_[static_cast<std::size_t>(slot)]; }
  std::byte* block(int slot, int number) const {
    return memory_.data() + slot * slot_stride_ + number * layout_.stride;
  }
  int shared(int slot) const { return stored(table_.parent(slot).length); }
  int room(int slot) const;
  const std::byte* readable_block(int slot, int number) const;

  void grow(int slot, int length);
  void release(int slot, blocks range) noexcept;
  void leave_parent_within_block(int slot, int length);
  template <class Copy>
  void each_piece(int slot, blocks range, Copy copy) const;
  void copy_blocks(int slot, blocks range, std::byte* output) const;

  int max_sequence_length_;
  std::int64_t slot_stride_;
  address_range memory_;
  std::vector<blocks> owned_;     // [slots]
  std::vector<blocks> previous_;  // [slots], what a failing reserve() restores
};

}  // namespace cogen::cache
