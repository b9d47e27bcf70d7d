#include "offloaded_layer.hpp"

#include "block_layout.hpp"
#include "packing.hpp"
#include "view_tensors.hpp"

#include <algorithm>
#include <utility>

namespace cogen::cache {
namespace {

/// The ranges of a view that move: its packed ones, or else all.
struct moving {
  kv_range* range;
  int ranges;
  std::int64_t& block_stride;
  std::int64_t block_bytes;
};

moving moving_part(kv_view& view) {
  packed_view& packed = view.packed;
  if (packed.keys.how != nullptr)
    return {packed.range, packed.ranges, packed.block_stride, packed.value_offset + view.kv_heads * packed.value_bytes};
  return {view.range, view.ranges, view.block_stride, 2 * view.value_offset};
}

void add(const std::byte* from, std::byte* to, std::int64_t bytes, std::vector<byte_copy>& copies) {
  copies.push_back({.from = {from, static_cast<std::size_t>(bytes)}, .to = {to, static_cast<std::size_t>(bytes)}});
}

}  // namespace

offloaded_layer::offloaded_layer(std::unique_ptr<layer> far, std::shared_ptr<offload> road)
    : layer(far->shape(), far->type(), far->slots(), far->sees()), far_(std::move(far)), road_(std::move(road)) {
  road_->add(*this);
}

offloaded_layer::~offloaded_layer() { road_->end(); }

void offloaded_layer::reserve(const step& step) {
  far_->reserve(step);
  std::vector<near_room> rooms;
  for (const step_row& row : step.rows()) {
    const slot_base base = slots().base(row.slot);
    rooms.push_back({.slot = row.slot, .blocks = own_blocks(row.slot, slots().length(row.slot) + row.count)});
    if (base.slot >= 0) rooms.push_back({.slot = base.slot, .blocks = blocks_for(base.length)});
  }
  try {
    road_->begin(step, rooms);
  } catch (...) {
    for (const step_row& row : step.rows()) far_->truncate(row.slot, slots().length(row.slot));
    throw;
  }
}

int offloaded_layer::own_blocks(int slot, int length) const {
  return blocks_for(length) - std::min(slots().base(slot).length, length) / block_tokens;
}

void offloaded_layer::settle() {
  try {
    road_->settle();
  } catch (...) {
    road_->end();
    throw;
  }
}

void offloaded_layer::advance(const step& step) {
  far_->advance(step);
  road_->end();
}

std::byte* offloaded_layer::near(int slot, const kv_view& view, const kv_range& range) const {
  const slot_base base = slots().base(slot);
  const std::int64_t shared =
      view.packed.keys.how != nullptr ? packed_tokens(base.length, view.packed.residual) : base.length;
  std::byte* own = road_->near(*this, range.begin < shared ? base.slot : slot);
  return own - range.begin / block_tokens * road_->block_bytes();
}

void offloaded_layer::add_older(const step_row& row, std::vector<byte_copy>& copies) const {
  kv_view far = *far_->view(row.slot, slots().length(row.slot) + (road_->went(*this) ? row.count : 0));
  const moving part = moving_part(far);
  for (int i = 0; i < part.ranges; ++i) {
    const kv_range& range = part.range[i];
    std::byte* to = near(row.slot, far, range);
    for (std::int64_t block = range.begin / block_tokens; block * block_tokens < range.end; ++block)
      add(range.data + block * part.block_stride, to + block * road_->block_bytes(), part.block_bytes, copies);
  }
}

kv_view offloaded_layer::near_view(int slot, int kv_length) const {
  kv_view view = *far_->view(slot, kv_length);
  const moving part = moving_part(view);
  for (int i = 0; i < part.ranges; ++i) part.range[i].data = near(slot, view, part.range[i]);
  part.block_stride = road_->block_bytes();
  return view;
}

std::optional<kv_view> offloaded_layer::view(int slot, int kv_length) const {
  if (!road_->in_step(slot)) return far_->view(slot, kv_length);
  road_->need(*this);
  return near_view(slot, kv_length);
}

void offloaded_layer::written(const step& step) {
  const auto is_near = [&](const step_row& row) { return road_->in_step(row.slot); };
  if (!std::all_of(step.rows().begin(), step.rows().end(), is_near)) return far_->written(step);
  std::vector<byte_copy> copies;
  for (const step_row& row : step.rows()) {
    const int length = slots().length(row.slot);
    pack_due(near_view(row.slot, length + row.count), length, row.count);
    add_new(row, copies);
  }
  road_->write_back(*this, std::move(copies));
}

void offloaded_layer::add_new(const step_row& row, std::vector<byte_copy>& copies) const {
  const int length = slots().length(row.slot);
  const kv_view far = *far_->view(row.slot, length + row.count);
  const kv_view near = near_view(row.slot, length + row.count);
  if (far.packed.keys.how != nullptr) {
    const due_blocks due = blocks_due(far.packed, length, row.count);
    const std::int64_t bytes = far.packed.value_offset + far.kv_heads * far.packed.value_bytes;
    for (std::int64_t number = due.begin; number < due.end; ++number)
      add(near.packed.block(number), far.packed.block(number), bytes, copies);
    return;
  }
  const std::int64_t token = std::int64_t{far.head_dim} * bytes_of(far.type);
  for (int at = length; at < length + row.count;) {
    const int count = std::min(length + row.count - at, block_tokens - at % block_tokens);
    // Keys of new tokens lie among those of older ones, which are the same on either side.
    add(near.block(at / block_tokens), far.block(at / block_tokens), far.value_offset, copies);
    for (int head = 0; head < far.kv_heads; ++head)
      add(near.value(at, head), far.value(at, head), count * token, copies);
    at += count;
  }
}

void offloaded_layer::append(const step& step, const at::Tensor& k, const at::Tensor& v) {
  check_new(step, k, v);
  write_step(*this, step, k, v);
  written(step);
}

keys_values offloaded_layer::materialise(int slot, int length) const {
  if (length > slots().length(slot)) road_->settle();
  return far_->materialise(slot, length);
}

layer& offloaded_layer::far_alone() {
  road_->end();
  return *far_;
}

void offloaded_layer::truncate(int slot, int length) {
  far_alone().truncate(slot, length);
  road_->shrink(slot, own_blocks(slot, length));
}

void offloaded_layer::trim(int slot, int length) {
  far_alone().trim(slot, length);
  road_->shrink(slot, own_blocks(slot, length));
}

void offloaded_layer::clear(int slot) { truncate(slot, 0); }

void offloaded_layer::export_slot(int slot, std::span<std::byte> into, std::vector<byte_copy>& later) const {
  road_->end();
  far_->export_slot(slot, into, later);
}

memory_terms offloaded_layer::footprint_terms() const {
  memory_terms terms = far_->footprint_terms();
  if (road_->is_first(*this)) terms += road_->footprint_terms();
  return terms;
}

std::int64_t offloaded_layer::committed_bytes() const {
  return far_->committed_bytes() + (road_->is_first(*this) ? road_->committed_bytes() : 0);
}

}  // namespace cogen::cache
