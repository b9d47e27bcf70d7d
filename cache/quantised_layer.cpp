#include "quantised_layer.hpp"

#include "group_codec.hpp"
#include "packing.hpp"
#include "view_tensors.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <utility>

namespace cogen::cache {
quantised_layer::quantised_layer(const layer_shape& shape, scalar type, const slot_table& table, const sight& sight,
                                 std::shared_ptr<quantised_storage> storage, const block_part& packed,
                                 const block_part& newest)
    : layer(shape, type, table, sight), storage_(std::move(storage)), packed_(packed), newest_(newest) {}

int quantised_layer::slack() const noexcept { return std::min(storage_->packed->slack(), storage_->newest->slack()); }

int quantised_layer::longest_step() const noexcept {
  return std::min(storage_->packed->longest_step(), storage_->newest->longest_step());
}

void quantised_layer::reserve(const step& step) {
  check_room(step);
  storage_->packed->reserve(step);
  try {
    storage_->newest->reserve(step);
  } catch (...) {
    for (const step_row& row : step.rows()) storage_->packed->truncate(row.slot, slots().length(row.slot));
    throw;
  }
}

std::optional<kv_view> quantised_layer::view(int slot, int kv_length) const {
  kv_view view = view_over(*this, newest_, storage_->newest->layout().stride);
  view.ranges = storage_->newest->ranges(slot, kv_length, view.range);
  for (int i = 0; i < view.ranges; ++i) view.range[i].data += newest_.offset;
  packed_view& packed = view.packed;
  packed = {.keys = plane_of(*storage_->how.keys, shape().head_dim, row_order::channel),
            .values = plane_of(*storage_->how.values, shape().head_dim, row_order::token),
            .block_stride = storage_->packed->layout().stride,
            .key_bytes = packed_.head_stride,
            .value_bytes = packed_.value_head_stride,
            .value_offset = packed_.value_offset,
            .residual = storage_->how.residual};
  packed.ranges = storage_->packed->ranges(slot, kv_length, packed.range);
  for (int i = 0; i < packed.ranges; ++i) packed.range[i].data += packed_.offset;
  return view;
}

void quantised_layer::written(const step& step) {
  for (const step_row& row : step.rows()) {
    const int length = slots().length(row.slot);
    pack_due(*view(row.slot, length + row.count), length, row.count);
  }
}

void quantised_layer::append(const step& step, const at::Tensor& k, const at::Tensor& v) {
  check_new(step, k, v);
  write_step(*this, step, k, v);
  written(step);
}

keys_values quantised_layer::materialise(int slot, int length) const {
  const kv_view all = *view(slot, length);
  const int packed = static_cast<int>(packed_tokens(length, storage_->how.residual));
  return read_extent(slot, length, [&](int begin, int end) { return read(all, packed, begin, end); });
}

keys_values quantised_layer::read(const kv_view& view, int packed, int begin, int end) const {
  keys_values all{.k = at::empty({view.kv_heads, end - begin, view.head_dim}, at::kFloat), .v = {}};
  all.v = at::empty_like(all.k);
  const int boundary = std::clamp(packed, begin, end);
  const at::Tensor block = at::empty({block_tokens, view.head_dim}, at::kFloat);
  const auto unpack = [&](const codec& codec, const std::byte* from, const at::Tensor& into, int first, int count) {
    codec.unpack(from, view.head_dim, block.data_ptr<float>());
    into.copy_(block.narrow(0, first % block_tokens, count));
  };
  for (int at = begin; at < boundary;) {
    const int count = std::min(boundary - at, block_tokens - at % block_tokens);
    const std::byte* from = view.packed.block(at / block_tokens);
    for (int head = 0; head < view.kv_heads; ++head) {
      unpack(*view.packed.keys.how, from + head * view.packed.key_bytes, all.k[head].narrow(0, at - begin, count), at,
             count);
      unpack(*view.packed.values.how, from + view.packed.value_offset + head * view.packed.value_bytes,
             all.v[head].narrow(0, at - begin, count), at, count);
    }
    at += count;
  }
  const keys_values newest = read_tokens(view, boundary, end);
  all.k.narrow(1, boundary - begin, end - boundary).copy_(newest.k);
  all.v.narrow(1, boundary - begin, end - boundary).copy_(newest.v);
  return all;
}

bool quantised_layer::can_truncate(int slot, int length) const {
  return storage_->packed->can_truncate(slot, length) && storage_->newest->can_truncate(slot, length);
}

void quantised_layer::truncate(int slot, int length) {
  storage_->packed->truncate(slot, length);
  storage_->newest->truncate(slot, length);
}

void quantised_layer::trim(int slot, int length) {
  storage_->packed->trim(slot, length);
  storage_->newest->trim(slot, length);
}

void quantised_layer::adopt(int slot, int of, int length) {
  storage_->packed->adopt(slot, of, length);
  storage_->newest->adopt(slot, of, length);
}

void quantised_layer::fork(int slot, const fork_origin& origin) {
  storage_->packed->fork(slot, origin);
  storage_->newest->fork(slot, origin);
}

void quantised_layer::copy(int from, int to, int begin, int end) {
  storage_->packed->copy(from, to, begin, end);
  storage_->newest->copy(from, to, begin, end);
}

void quantised_layer::take_snapshot(int slot) {
  storage_->packed->take_snapshot(slot);
  storage_->newest->take_snapshot(slot);
}

void quantised_layer::drop_snapshot(int slot, int length) {
  storage_->packed->drop_snapshot(slot, length);
  storage_->newest->drop_snapshot(slot, length);
}

std::int64_t quantised_layer::exported_bytes(int length) const {
  return storage_->packed->exported_bytes(length) + storage_->newest->exported_bytes(length);
}

memory_terms quantised_layer::packed_terms() const {
  memory_terms terms = footprint_terms();
  terms.fixed += storage_->packed->exported_prefix() + storage_->newest->exported_prefix();
  return terms;
}

void quantised_layer::export_slot(int slot, std::span<std::byte> into, std::vector<byte_copy>& later) const {
  storage_->packed->export_slot(slot, into.data(), later);
  storage_->newest->export_slot(slot, into.data() + storage_->packed->exported_bytes(slots().length(slot)), later);
}

void quantised_layer::import_slot(int slot, int length, std::span<const std::byte> from,
                                  std::vector<byte_copy>& later) {
  storage_->packed->import_slot(slot, length, from.data(), later);
  storage_->newest->import_slot(slot, length, from.data() + storage_->packed->exported_bytes(length), later);
}

memory_terms quantised_layer::footprint_terms() const {
  memory_terms terms = storage_->packed->footprint_terms();
  return terms += storage_->newest->footprint_terms();
}

std::int64_t quantised_layer::committed_bytes() const {
  return storage_->packed->committed_bytes() + storage_->newest->committed_bytes();
}

}  // namespace cogen::cache
