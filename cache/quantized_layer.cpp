#include "quantized_layer.hpp"

#include "group_codec.hpp"
#include "quantizing.hpp"
#include "view_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cogen::cache {
quantized_layer::quantized_layer(const kv_cache_spec& shape, scalar type, const slot_table& table,
                                 const attention_span& attention_span, std::shared_ptr<quantized_storage> storage,
                                 const block_part& quantized, const block_part& newest)
    : layer(shape, type, table, attention_span), storage_(std::move(storage)), quantized_(quantized), newest_(newest) {}

int quantized_layer::max_rollback_tokens() const noexcept {
  return std::min(storage_->quantized->max_rollback_tokens(), storage_->newest->max_rollback_tokens());
}

int quantized_layer::max_step_tokens() const noexcept {
  return std::min(storage_->quantized->max_step_tokens(), storage_->newest->max_step_tokens());
}

void quantized_layer::reserve(const step& step) {
  check_room(step);
  storage_->quantized->reserve(step);
  try {
    storage_->newest->reserve(step);
  } catch (...) {
    for (const step_row& row : step.rows()) storage_->quantized->truncate(row.slot, slots().length(row.slot));
    throw;
  }
}

std::optional<kv_view> quantized_layer::view(int slot, int kv_length) const {
  kv_view view = view_over(*this, newest_, storage_->newest->layout().stride);
  view.ranges = storage_->newest->ranges(slot, kv_length, view.range);
  for (int i = 0; i < view.ranges; ++i) view.range[i].data += newest_.offset;
  quantized_view& quantized = view.quantized;
  quantized = {.keys = plane_of(*storage_->scheme.keys, shape().head_dim, row_order::channel),
               .values = plane_of(*storage_->scheme.values, shape().head_dim, row_order::token),
               .block_stride = storage_->quantized->layout().stride,
               .key_bytes = quantized_.head_stride,
               .value_bytes = quantized_.value_head_stride,
               .value_offset = quantized_.value_offset,
               .residual = storage_->scheme.residual};
  quantized.ranges = storage_->quantized->ranges(slot, kv_length, quantized.range);
  for (int i = 0; i < quantized.ranges; ++i) quantized.range[i].data += quantized_.offset;
  return view;
}

void quantized_layer::written(const step& step) {
  for (const step_row& row : step.rows()) {
    const int length = slots().length(row.slot);
    quantize_due(*view(row.slot, length + row.count), length, row.count);
  }
}

void quantized_layer::append(const step& step, const head_rows& k, const head_rows& v) {
  check_new(step, k, v);
  write_step(*this, step, k, v);
  written(step);
}

keys_values quantized_layer::to_dense(int slot, int length) const {
  const kv_view tokens = *view(slot, length);
  const int quantized = static_cast<int>(quantized_tokens(length, storage_->scheme.residual));
  return read_extent(slot, length, [&](int begin, int end) { return read(tokens, quantized, begin, end); });
}

keys_values quantized_layer::read(const kv_view& view, int quantized, int begin, int end) const {
  const keys_values result = make_keys_values(view.kv_heads, end - begin, view.head_dim, view.latent_dim);
  const int boundary = std::clamp(quantized, begin, end);
  std::vector<float> block(static_cast<std::size_t>(block_tokens * view.head_dim));
  const auto dequantize = [&](const codec& codec, const std::byte* bytes, float* output, int first, int count) {
    codec.dequantize(bytes, view.head_dim, block.data());
    std::copy_n(block.data() + first % block_tokens * view.head_dim, count * view.head_dim, output);
  };
  for (int position = begin; position < boundary;) {
    const int count = std::min(boundary - position, block_tokens - position % block_tokens);
    const std::byte* source = view.quantized.block(position / block_tokens);
    for (int head = 0; head < view.kv_heads; ++head) {
      dequantize(*view.quantized.keys.quantizer, source + head * view.quantized.key_bytes,
                 result.k.row(head, position - begin), position, count);
      if (view.latent_dim > 0) continue;
      dequantize(*view.quantized.values.quantizer,
                 source + view.quantized.value_offset + head * view.quantized.value_bytes,
                 result.v.row(head, position - begin), position, count);
    }
    position += count;
  }
  read_tokens(view, boundary, end, result.k.tokens_from(boundary - begin, end - boundary),
              result.v.tokens_from(boundary - begin, end - boundary));
  return result;
}

bool quantized_layer::can_truncate(int slot, int length) const {
  return storage_->quantized->can_truncate(slot, length) && storage_->newest->can_truncate(slot, length);
}

void quantized_layer::truncate(int slot, int length) {
  storage_->quantized->truncate(slot, length);
  storage_->newest->truncate(slot, length);
}

void quantized_layer::release(int slot, int length) {
  storage_->quantized->release(slot, length);
  storage_->newest->release(slot, length);
}

void quantized_layer::share_prefix(int slot, int source, int length) {
  storage_->quantized->share_prefix(slot, source, length);
  storage_->newest->share_prefix(slot, source, length);
}

void quantized_layer::fork(const slot_fork& fork) {
  storage_->quantized->fork(fork);
  storage_->newest->fork(fork);
}

void quantized_layer::copy(int source, int target, int begin, int end) {
  storage_->quantized->copy(source, target, begin, end);
  storage_->newest->copy(source, target, begin, end);
}

void quantized_layer::take_checkpoint(int slot) {
  storage_->quantized->take_checkpoint(slot);
  storage_->newest->take_checkpoint(slot);
}

void quantized_layer::drop_checkpoint(int slot, int length) {
  storage_->quantized->drop_checkpoint(slot, length);
  storage_->newest->drop_checkpoint(slot, length);
}

std::int64_t quantized_layer::exported_bytes(int length) const {
  return storage_->quantized->exported_bytes(length) + storage_->newest->exported_bytes(length);
}

bool quantized_layer::has_finite_numbers(std::span<const std::byte> exported, int length) const {
  const auto& quantized = *storage_->quantized;
  const auto bytes = static_cast<std::size_t>(quantized.exported_bytes(length));
  if (bytes > exported.size()) return true;
  if (bytes > 0)
    for (auto offset = quantized.exported_prefix(); offset < quantized.exported_bytes(length);
         offset += quantized.layout().stride)
      if (!block_is_finite(exported.data() + offset)) return false;
  return are_finite(storage_->newest->exported_runs(length, type()), exported.subspan(bytes));
}

/// Of all layers of the storage.
bool quantized_layer::block_is_finite(const std::byte* block) const {
  const auto& [keys, values, residual] = storage_->scheme;
  for (const block_part& part : storage_->quantized->layout().parts)
    for (int head = 0; head < part.kv_heads; ++head) {
      const std::byte* of_layer = block + part.offset;
      if (!keys->has_finite_numbers(of_layer + head * part.head_stride, part.head_dim)) return false;
      if (part.value_head_stride == 0) continue;
      of_layer += part.value_offset;
      if (!values->has_finite_numbers(of_layer + head * part.value_head_stride, part.head_dim)) return false;
    }
  return true;
}

slot_footprint quantized_layer::compressed_terms() const {
  slot_footprint terms = footprint_terms();
  terms.fixed += storage_->quantized->exported_prefix() + storage_->newest->exported_prefix();
  return terms;
}

void quantized_layer::export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>& later) const {
  storage_->quantized->export_slot(slot, output.data(), later);
  storage_->newest->export_slot(slot, output.data() + storage_->quantized->exported_bytes(slots().length(slot)), later);
}

void quantized_layer::import_slot(int slot, int length, std::span<const std::byte> input,
                                  std::vector<byte_copy>& later) {
  storage_->quantized->import_slot(slot, length, input.data(), later);
  storage_->newest->import_slot(slot, length, input.data() + storage_->quantized->exported_bytes(length), later);
}

slot_footprint quantized_layer::footprint_terms() const {
  slot_footprint terms = storage_->quantized->footprint_terms();
  return terms += storage_->newest->footprint_terms();
}

std::int64_t quantized_layer::committed_bytes() const {
  return storage_->quantized->committed_bytes() + storage_->newest->committed_bytes();
}

}  // namespace cogen::cache
