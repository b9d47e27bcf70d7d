#pragma once

#include "address_range.hpp"
#include "snapshot_set.hpp"

#include <cogen/cache/layer.hpp>

#include <span>
#include <vector>

namespace cogen::cache {

/// The states of several recurrent layers for all slots. Each slot has two: the current one, and one that a step
/// writes. advance() swaps them, so a failing step changes nothing.
class state_storage {
 public:
  /// `table` must outlive the storage. Throws std::system_error if address space is refused.
  state_storage(std::span<const kv_cache_spec> shapes, const slot_table& table);

  state_view view(int slot, std::size_t layer) const;

  void reserve(const step& step);
  void advance(const step& step);
  bool can_truncate(int slot, int length) const;
  void truncate(int slot, int length);
  void copy(int from, int to, int end);
  void take_snapshot(int slot);
  void drop_snapshot(int slot, int length) { at(slot).snapshots.drop(length); }

  std::int64_t exported_bytes(int length) const { return length == 0 ? 0 : bytes_; }
  void export_slot(int slot, std::byte* into) const;
  void import_slot(int slot, const std::byte* from);

  memory_terms footprint_terms() const { return {.fixed = 2 * stride_}; }
  std::int64_t committed_bytes() const;

 private:
  struct slot_state {
    bool committed = false;
    int counts = 0;  // the current one of the two
    snapshot_set snapshots;
  };

  slot_state& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const slot_state& at(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  std::byte* state(int slot, int which) const { return memory_.data() + (2 * slot + which) * stride_; }
  void commit(int slot);
  void set(int slot, const std::byte* bytes);

  const slot_table& table_;
  std::int64_t bytes_ = 0;             // of one state of all layers
  std::vector<std::int64_t> offsets_;  // [layers], bytes
  std::int64_t stride_ = 0;            // the same in whole pages
  address_range memory_;
  std::vector<slot_state> slots_;
};

}  // namespace cogen::cache
