#pragma once

#include "address_range.hpp"
#include "snapshot_set.hpp"

#include <cogen/extend/kv_layer.hpp>

#include <span>
#include <vector>

namespace cogen::cache {

/// The states of several recurrent layers for all slots. Each slot has two, and one more for each draft that one of its
/// rows had: the current one, and those that a step writes after it, in a ring. advance() moves the current one on, so
/// a failing step changes no state that counts. The states before the drafts of the last row stay until the next one.
class state_storage {
 public:
  /// `table` must outlive the storage. Throws std::system_error if address space is refused.
  state_storage(std::span<const kv_cache_spec> shapes, const slot_table& table, int max_drafts);

  int max_drafts() const noexcept { return max_states_ - 2; }
  state_view view(int slot, std::size_t layer, int draft) const;

  /// Throws std::length_error if a row has more drafts than max_drafts().

  void reserve(const step& step);
  void advance(const step& step);
  bool can_truncate(int slot, int length) const;
  void truncate(int slot, int length);
  void copy(int source, int target, int end);
  void take_checkpoint(int slot);
  void drop_checkpoint(int slot, int length) { ring_of(slot).snapshots.drop(length); }

  std::int64_t exported_bytes(int length) const { return length == 0 ? 0 : bytes_; }
  void export_slot(int slot, std::byte* output) const;
  void import_slot(int slot, const std::byte* input);

  slot_footprint footprint_terms() const { return {.fixed = max_states_ * stride_}; }
  std::int64_t committed_bytes() const;

 private:
  struct slot_state {
    int committed = 0;
    int current = 0;  // of the committed ones
    int drafts = 0;   // of the last row: the states before each of them are those before the current one
    snapshot_set snapshots;
  };

  slot_state& ring_of(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const slot_state& ring_of(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  std::byte* state(int slot, int from_current) const;
  bool holds(int slot, int length) const;
  std::int64_t begin_of(int slot) const { return std::int64_t{max_states_} * slot * stride_; }
  void commit(int slot, int states);
  void set(int slot, const std::byte* bytes);

  const slot_table& table_;
  const int max_states_;               // of one slot
  std::int64_t bytes_ = 0;             // of one state of all layers
  std::vector<std::int64_t> offsets_;  // [layers], bytes
  std::int64_t stride_ = 0;            // the same in whole pages
  address_range memory_;
  std::vector<slot_state> slots_;
};

}  // namespace cogen::cache
