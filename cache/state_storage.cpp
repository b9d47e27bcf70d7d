#include "state_storage.hpp"

#include <algorithm>
#include <cstring>

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

state_storage::state_storage(std::span<const kv_cache_spec> shapes, const slot_table& table)
    : table_(table),
      offsets_(offsets_of(shapes, bytes_)),
      stride_(whole_pages(bytes_)),
      memory_(product(2 * std::int64_t{table.slots()}, stride_)),
      slots_(static_cast<std::size_t>(table.slots())) {}

state_view state_storage::view(int slot, std::size_t layer) const {
  table_.check(slot);
  const int counts = at(slot).counts;
  return {.before = reinterpret_cast<const float*>(state(slot, counts) + offsets_[layer]),
          .after = reinterpret_cast<float*>(state(slot, 1 - counts) + offsets_[layer])};
}

void state_storage::commit(int slot) {
  if (at(slot).committed) return;
  memory_.commit(state(slot, 0) - memory_.data(), 2 * stride_);
  at(slot).committed = true;
}

void state_storage::reserve(const step& step) {
  for (const step_row& row : step.rows()) commit(row.slot);
}

void state_storage::advance(const step& step) {
  for (const step_row& row : step.rows()) at(row.slot).counts = 1 - at(row.slot).counts;
}

bool state_storage::can_truncate(int slot, int length) const {
  const bool now = at(slot).committed && length == table_.length(slot);
  return length == 0 || now || at(slot).snapshots.has(length);
}

void state_storage::truncate(int slot, int length) {
  if (length == 0) {
    if (at(slot).committed) memory_.release(state(slot, 0) - memory_.data(), 2 * stride_);
    at(slot) = {};
    return;
  }
  if (length != table_.length(slot)) set(slot, at(slot).snapshots.at(length).data());
  at(slot).snapshots.cut(length);
}

void state_storage::set(int slot, const std::byte* bytes) {
  commit(slot);
  std::copy_n(bytes, bytes_, state(slot, at(slot).counts));
}

void state_storage::copy(int from, int to, int end) {
  set(to, end == table_.length(from) ? state(from, at(from).counts) : at(from).snapshots.at(end).data());
}

void state_storage::take_snapshot(int slot) {
  const std::byte* now = state(slot, at(slot).counts);
  if (table_.length(slot) > 0) at(slot).snapshots.put(table_.length(slot), {now, now + bytes_});
}

void state_storage::export_slot(int slot, std::byte* into) const {
  if (table_.length(slot) > 0) std::copy_n(state(slot, at(slot).counts), bytes_, into);
}

void state_storage::import_slot(int slot, const std::byte* from) { set(slot, from); }

std::int64_t state_storage::committed_bytes() const {
  std::int64_t bytes = 0;
  for (const slot_state& slot : slots_) bytes += (slot.committed ? 2 * stride_ : 0) + slot.snapshots.bytes();
  return bytes;
}

}  // namespace cogen::cache
