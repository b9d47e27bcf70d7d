#pragma once

#include "block_layout.hpp"

#include <cogen/detail/cache/slot_table.hpp>
#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/cache/step.hpp>
#include <cogen/detail/cache/transfer.hpp>
#include <cogen/detail/cache/view.hpp>
#include <cogen/detail/slot_footprint.hpp>
#include <cogen/detail/slot_fork.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cogen::cache {

/// Where blocks of several layers are, for all slots: shared by the layers of one storage.
///
/// Lengths are those of the slot table, or follow from them: a storage of quantized tokens holds the first
/// quantized_tokens(length, residual) of a slot's. Members mean the same as those of `layer`.
class token_storage {
 public:
  virtual ~token_storage() = default;
  token_storage(const token_storage&) = delete;
  token_storage& operator=(const token_storage&) = delete;

  const block_layout& layout() const noexcept { return layout_; }

  virtual int max_sequence_length() const noexcept = 0;
  virtual int max_rollback_tokens() const noexcept = 0;
  virtual int max_step_tokens() const noexcept = 0;

  /// Writes to `output` where the first `length` tokens of the slot are, as far as they are stored, block by block of
  /// the whole layout: at most two ranges. Returns how many. Throws std::out_of_range beyond the reserved room.
  virtual int ranges(int slot, int length, kv_range* output) const = 0;

  /// Makes room for all rows or for none. Throws std::system_error if memory is refused.
  virtual void reserve(const step& step) = 0;

  virtual bool can_truncate(int slot, int length) const = 0;
  virtual void truncate(int slot, int length) = 0;
  virtual void release(int slot, int length) = 0;
  virtual void share_prefix(int slot, int source, int length) = 0;
  virtual void fork(const slot_fork& fork) {
    if (fork.shared > 0) share_prefix(fork.slot, fork.parent, fork.shared);
    if (fork.copies()) copy(fork.source, fork.slot, fork.shared, fork.end);
  }
  virtual void copy(int source, int target, int begin, int end) = 0;

  virtual void take_checkpoint(int slot) = 0;
  virtual void drop_checkpoint(int slot, int length) = 0;

  virtual std::int64_t exported_bytes(int length) const = 0;

  /// Of those, the bytes before the blocks.
  virtual std::int64_t exported_prefix() const { return 0; }

  /// Describes exported_bytes(length), if tokens are stored here in full precision, of this type.
  std::vector<exported_run> exported_runs(int length, scalar type) const;
  slot_footprint compressed_terms(scalar type) const;

  virtual void export_slot(int slot, std::byte* output, std::vector<byte_copy>& later) const = 0;
  virtual void import_slot(int slot, int length, const std::byte* input, std::vector<byte_copy>& later) = 0;

  virtual slot_footprint footprint_terms() const = 0;
  virtual std::int64_t committed_bytes() const = 0;

 protected:
  /// `table` must outlive the storage. With a `residual` it holds quantized tokens.
  token_storage(block_layout layout, const slot_table& table, std::optional<int> residual)
      : table_(table), layout_(std::move(layout)), residual_(residual) {}

  /// How many of a slot's first `length` tokens are stored here.
  int stored(int length) const { return residual_ ? static_cast<int>(quantized_tokens(length, *residual_)) : length; }

  const slot_table& table_;
  block_layout layout_;
  std::optional<int> residual_;
};

}  // namespace cogen::cache
