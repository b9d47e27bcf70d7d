#include "state_storage.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::cache {
namespace {

std::vector<std::int64_t> offsets_of(std::span<const kv_cache_spec> shapes, std::int64_t& end) {
  std::vector<std::int64_t> offsets;
  for (const kv_cache_spec& shape : shapes) {
    offsets.push_back(end);
    end += (shape.state * static_cast<std::int64_t>(sizeof(float)) + 63) / 64 * 64;
  }
  return offsets;
}

}  // namespace

state_storage::state_storage(std::span<const kv_cache_spec> shapes, const slot_table& table, int max_drafts)
    : table_(table),
      max_states_(2 + max_drafts),
      offsets_(offsets_of(shapes, bytes_)),
      stride_(whole_pages(bytes_)),
      memory_(product(std::int64_t{max_states_} * table.slots(), stride_)),
      slots_(static_cast<std::size_t>(table.slots())) {}

std::byte* state_storage::state(int slot, int from_current) const {
  const slot_state& ring = ring_of(slot);
  const int states = std::max(2, ring.committed);
  return memory_.data() + begin_of(slot) + (ring.current + from_current + states) % states * stride_;
}

/// Whether a state after so many tokens is among its states: the current one, or one within the drafts of its last row.
bool state_storage::holds(int slot, int length) const {
  const int now = table_.length(slot);
  return length <= now && length >= now - ring_of(slot).drafts;
}

state_view state_storage::view(int slot, std::size_t layer, int draft) const {
  table_.check(slot);
  return {.previous = reinterpret_cast<const float*>(state(slot, draft) + offsets_[layer]),
          .next = reinterpret_cast<float*>(state(slot, draft + 1) + offsets_[layer])};
}

void state_storage::commit(int slot, int states) {
  slot_state& ring = ring_of(slot);
  if (ring.committed >= states) return;
  memory_.commit(begin_of(slot) + ring.committed * stride_, (states - ring.committed) * stride_);
  ring.committed = states;
}

void state_storage::reserve(const step& step) {
  for (const step_row& row : step.rows()) {
    if (row.drafts > max_drafts())
      throw std::length_error("cache: a row of slot " + std::to_string(row.slot) + " has " +
                              std::to_string(row.drafts) + " draft tokens, the limit is " +
                              std::to_string(max_drafts()));
    ring_of(row.slot).drafts = 0;
    commit(row.slot, 2 + row.drafts);
  }
}

void state_storage::advance(const step& step) {
  for (const step_row& row : step.rows()) {
    slot_state& ring = ring_of(row.slot);
    ring.current = (ring.current + 1 + row.drafts) % ring.committed;
    ring.drafts = row.drafts;
  }
}

bool state_storage::can_truncate(int slot, int length) const {
  const bool held = ring_of(slot).committed > 0 && holds(slot, length);
  return length == 0 || held || ring_of(slot).snapshots.has(length);
}

void state_storage::truncate(int slot, int length) {
  slot_state& ring = ring_of(slot);
  if (length == 0) {
    if (ring.committed > 0) memory_.release(begin_of(slot), ring.committed * stride_);
    ring = {};
    return;
  }
  if (holds(slot, length)) {
    const int back = table_.length(slot) - length;
    ring.current = (ring.current - back + ring.committed) % ring.committed;
    ring.drafts -= back;
  } else {
    set(slot, ring.snapshots.get(length).data());
  }
  ring.snapshots.cut(length);
}

void state_storage::set(int slot, const std::byte* bytes) {
  commit(slot, 2);
  ring_of(slot).drafts = 0;
  std::copy_n(bytes, bytes_, state(slot, 0));
}

void state_storage::copy(int source, int target, int end) {
  set(target,
      holds(source, end) ? state(source, end - table_.length(source)) : ring_of(source).snapshots.get(end).data());
}

void state_storage::take_checkpoint(int slot) {
  const std::byte* now = state(slot, 0);
  if (table_.length(slot) > 0) ring_of(slot).snapshots.put(table_.length(slot), {now, now + bytes_});
}

void state_storage::export_slot(int slot, std::byte* output) const {
  if (table_.length(slot) > 0) std::copy_n(state(slot, 0), bytes_, output);
}

void state_storage::import_slot(int slot, const std::byte* input) { set(slot, input); }

std::int64_t state_storage::committed_bytes() const {
  std::int64_t bytes = 0;
  for (const slot_state& slot : slots_) bytes += slot.committed * stride_ + slot.snapshots.bytes();
  return bytes;
}

}  // namespace cogen::cache
