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
  int& ranges;
  std::int64_t& block_stride;
  std::int64_t block_bytes;
};

moving moving_part(kv_view& view) {
  packed_view& packed = view.packed;
  if (packed.keys.how != nullptr)
    return {packed.range, packed.ranges, packed.block_stride, packed.value_offset + view.kv_heads * packed.value_bytes};
  return {view.range, view.ranges, view.block_stride, 2 * view.value_offset};
}

std::int64_t end_of(const moving& part) { return part.ranges == 0 ? 0 : part.range[part.ranges - 1].end; }

}  // namespace

offloaded_layer::offloaded_layer(std::unique_ptr<layer> far, std::shared_ptr<offload> road)
    : layer(far->shape(), far->type(), far->slots(), far->sees()), far_(std::move(far)), road_(std::move(road)) {
  road_->add(*this);
}

offloaded_layer::~offloaded_layer() { road_->drain(); }

void offloaded_layer::reserve(const step& step) {
  far_->reserve(step);
  std::vector<int> blocks;
  for (const step_row& row : step.rows()) blocks.push_back(blocks_for(slots().length(row.slot) + row.count));
  try {
    road_->begin(step, blocks);
  } catch (...) {
    for (const step_row& row : step.rows()) far_->truncate(row.slot, slots().length(row.slot));
    throw;
  }
}

void offloaded_layer::settle() { road_->settle(); }

void offloaded_layer::advance(const step& step) {
  far_->advance(step);
  road_->end();
}

void offloaded_layer::add_older(const step_row& row, std::vector<byte_copy>& copies) const {
  const int length = slots().length(row.slot) + (road_->went(*this) ? row.count : 0);
  kv_view far = *far_->view(row.slot, length);
  const moving part = moving_part(far);
  std::byte* near = road_->near(*this, row.slot);
  const auto bytes = static_cast<std::size_t>(part.block_bytes);
  for (std::int64_t number = 0; number * block_tokens < end_of(part); ++number)
    copies.push_back({.from = {block_at(part.range, part.ranges, number, part.block_stride), bytes},
                      .to = {near + number * road_->block_bytes(), bytes}});
}

kv_view offloaded_layer::near_view(int slot, int kv_length) const {
  kv_view view = *far_->view(slot, kv_length);
  const moving part = moving_part(view);
  const std::int64_t end = end_of(part);
  part.block_stride = road_->block_bytes();
  part.ranges = end > 0 ? 1 : 0;
  part.range[0] = {.data = road_->near(*this, slot), .begin = 0, .end = end};
  return view;
}

std::optional<kv_view> offloaded_layer::view(int slot, int kv_length) const {
  const auto rows = road_->rows();
  if (std::find_if(rows.begin(), rows.end(), [&](const step_row& row) { return row.slot == slot; }) == rows.end())
    return far_->view(slot, kv_length);
  road_->need(*this);
  return near_view(slot, kv_length);
}

void offloaded_layer::written(const step& step) {
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
  kv_view far = *far_->view(row.slot, length + row.count);
  kv_view near = near_view(row.slot, length + row.count);
  const moving down = moving_part(far), up = moving_part(near);
  const auto add = [&](std::int64_t number, std::int64_t offset, std::int64_t bytes) {
    copies.push_back(
        {.from = {block_at(up.range, up.ranges, number, up.block_stride) + offset, static_cast<std::size_t>(bytes)},
         .to = {block_at(down.range, down.ranges, number, down.block_stride) + offset,
                static_cast<std::size_t>(bytes)}});
  };
  if (far.packed.keys.how != nullptr) {
    const due_blocks due = blocks_due(far.packed, length, row.count);
    for (std::int64_t number = due.begin; number < due.end; ++number) add(number, 0, down.block_bytes);
    return;
  }
  const std::int64_t token = std::int64_t{far.head_dim} * bytes_of(far.type);
  for (int at = length; at < length + row.count;) {
    const int count = std::min(length + row.count - at, block_tokens - at % block_tokens);
    for (int head = 0; head < far.kv_heads; ++head) {
      const std::int64_t offset = head * far.head_stride + at % block_tokens * token;
      add(at / block_tokens, offset, count * token);
      add(at / block_tokens, offset + far.value_offset, count * token);
    }
    at += count;
  }
}

void offloaded_layer::append(const step& step, const at::Tensor& k, const at::Tensor& v) {
  check_new(step, k, v);
  for (std::size_t i = 0; i < step.rows().size(); ++i) {
    const auto [slot, count] = step.rows()[i];
    const int length = slots().length(slot);
    const int first = step.first(static_cast<int>(i));
    write_tokens(*view(slot, length + count), length, k.narrow(0, first, count), v.narrow(0, first, count));
  }
  written(step);
}

keys_values offloaded_layer::materialise(int slot, int length) const {
  road_->settle();
  return far_->materialise(slot, length);
}

void offloaded_layer::truncate(int slot, int length) {
  road_->drain();
  road_->end();
  far_->truncate(slot, length);
  if (length == 0) road_->release(slot);
}

void offloaded_layer::trim(int slot, int length) {
  far_->trim(slot, length);
  road_->release(slot);
}

void offloaded_layer::clear(int slot) { truncate(slot, 0); }

void offloaded_layer::adopt(int slot, int of, int length) { far_->adopt(slot, of, length); }

void offloaded_layer::fork(int slot, const fork_origin& origin) { far_->fork(slot, origin); }

void offloaded_layer::copy(int from, int to, int begin, int end) { far_->copy(from, to, begin, end); }

void offloaded_layer::take_snapshot(int slot) { far_->take_snapshot(slot); }

void offloaded_layer::import_slot(int slot, int length, std::span<const std::byte> from) {
  far_->import_slot(slot, length, from);
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
