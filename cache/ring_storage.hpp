#pragma once

#include "address_range.hpp"
#include "snapshot_set.hpp"
#include "token_storage.hpp"

#include <vector>

namespace cogen::cache {

/// Which tokens a layer still needs of a slot of some length, and how many more a ring keeps.
struct ring_shape {
  attention_span span;          ///< what queries attend to; with sinks, the first block is never overwritten
  int newest = -1;              ///< only tokens that are not quantized, `newest` being the residual; -1: no such limit
  int max_step_tokens = 64;     ///< new tokens of a slot in one step
  int max_rollback_tokens = 0;  ///< tokens a slot can go back by, counted from the most it held

  /// The first position (besides blocks that stay) that a slot of `length` tokens needs to continue.
  int first_needed(int length) const;

  /// Blocks of the ring.
  int blocks() const;

  /// Blocks before the ring, which stay.
  int blocks_kept() const { return span.sinks > 0 ? 1 : 0; }
};

/// The newest keys and values of several layers for all slots, in a ring of blocks for each slot.
///
/// Of a slot it holds at least positions [oldest, end): a step overwrites tokens one ring length before it.
class ring_storage final : public token_storage {
 public:
  /// Like block_storage's. Throws std::invalid_argument if the shape limits nothing.
  ring_storage(block_layout layout, const slot_table& table, int max_sequence_length, const ring_shape& shape,
               std::optional<int> residual = {});

  const ring_shape& shape() const noexcept { return shape_; }
  int max_sequence_length() const noexcept override { return max_sequence_length_; }
  int max_rollback_tokens() const noexcept override;
  int max_step_tokens() const noexcept override;
  int ranges(int slot, int length, kv_range* output) const override;
  void reserve(const step& step) override;
  bool can_truncate(int slot, int length) const override;
  void truncate(int slot, int length) override;
  void release(int slot, int length) override;
  void share_prefix(int slot, int source, int length) override { copy(source, slot, 0, length); }
  void fork(const slot_fork& fork) override { copy(fork.source, fork.slot, 0, fork.end); }
  void copy(int source, int target, int begin, int end) override;
  void take_checkpoint(int slot) override;
  void drop_checkpoint(int slot, int length) override { state(slot).snapshots.drop(length); }
  std::int64_t exported_bytes(int length) const override;
  std::int64_t exported_prefix() const override { return sizeof(std::int64_t); }
  void export_slot(int slot, std::byte* output, std::vector<byte_copy>& later) const override;
  void import_slot(int slot, int length, const std::byte* input, std::vector<byte_copy>& later) override;
  slot_footprint footprint_terms() const override;
  std::int64_t committed_bytes() const override;

 private:
  struct slot_state {
    int blocks = 0;  // committed, the ring's after the first one that stays
    int oldest = 0;  // position
    int end = 0;     // of what was reserved
    snapshot_set snapshots;
  };

  /// Blocks [begin, end) by number, as saved: the one that stays, then those that may be needed.
  struct saved_blocks {
    bool first;
    int begin;
    int end;
    std::int64_t count() const { return first + end - begin; }
  };

  bool ever_full() const noexcept;
  slot_state& state(int slot) { return states_[static_cast<std::size_t>(slot)]; }
  const slot_state& state(int slot) const { return states_[static_cast<std::size_t>(slot)]; }
  std::byte* block(int slot, int number) const;
  std::byte* place(int slot, int index) const;
  int needed(int length) const;
  int oldest_needed(int length) const;
  bool holds(int slot, int length) const;
  void grow(int slot, int length);
  void shrink(int slot, int length) noexcept;
  void check_room(const step& step) const;
  saved_blocks saved(int length) const;
  std::int64_t saved_bytes(int length) const;
  template <class Visit>
  void each_saved(int length, Visit visit) const;
  void save_oldest(int slot, std::byte* output) const;
  void save(int slot, int length, std::byte* output) const;
  void swap_in(int slot, int length, const std::byte* input);
  void make_ready(int slot, int length, const std::byte* input);

  int max_sequence_length_;
  ring_shape shape_;
  int ring_;  // blocks
  std::int64_t slot_stride_;
  address_range memory_;
  std::vector<slot_state> states_;  // [slots]
  std::vector<int> previous_;       // [slots], blocks: what a failing reserve() restores
};

}  // namespace cogen::cache
