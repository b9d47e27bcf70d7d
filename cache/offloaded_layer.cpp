#include "offloaded_layer.hpp"

#include "block_layout.hpp"
#include "quantizing.hpp"
#include "view_rows.hpp"

#include <algorithm>
#include <utility>

namespace cogen::cache {
namespace {

/// The ranges of a view that are copied: its quantized ones, or else all.
struct moving {
  kv_range* range;
  int ranges;
  std::int64_t& block_stride;
  std::int64_t block_bytes;
};

moving moving_part(kv_view& view) {
  quantized_view& quantized = view.quantized;
  if (quantized.keys.quantizer != nullptr)
    return {quantized.range, quantized.ranges, quantized.block_stride,
            quantized.value_offset + view.kv_heads * quantized.value_bytes};
  return {view.range, view.ranges, view.block_stride, view.block_bytes()};
}

void add(const std::byte* source, std::byte* target, std::int64_t bytes, std::vector<byte_copy>& copies) {
  copies.push_back(
      {.source = {source, static_cast<std::size_t>(bytes)}, .target = {target, static_cast<std::size_t>(bytes)}});
}

}  // namespace

offloaded_layer::offloaded_layer(std::unique_ptr<layer> host, std::shared_ptr<layer_prefetcher> prefetcher)
    : layer(host->shape(), host->type(), host->slots(), host->span()),
      host_(std::move(host)),
      prefetcher_(std::move(prefetcher)) {
  prefetcher_->add(*this);
}

offloaded_layer::~offloaded_layer() { prefetcher_->end(); }

void offloaded_layer::reserve(const step& step) {
  host_->reserve(step);
  std::vector<device_room> rooms;
  for (const step_row& row : step.rows()) {
    const slot_parent parent = slots().parent(row.slot);
    rooms.push_back({.slot = row.slot, .blocks = own_blocks(row.slot, slots().length(row.slot) + row.count)});
    if (parent.slot >= 0) rooms.push_back({.slot = parent.slot, .blocks = blocks_for(parent.length)});
  }
  try {
    prefetcher_->begin(step, rooms);
  } catch (...) {
    for (const step_row& row : step.rows()) host_->truncate(row.slot, slots().length(row.slot));
    throw;
  }
}

int offloaded_layer::own_blocks(int slot, int length) const {
  return blocks_for(length) - std::min(slots().parent(slot).length, length) / block_tokens;
}

void offloaded_layer::settle() {
  try {
    prefetcher_->settle();
  } catch (...) {
    prefetcher_->end();
    throw;
  }
}

void offloaded_layer::advance(const step& step) {
  host_->advance(step);
  prefetcher_->end();
}

std::byte* offloaded_layer::device(int slot, const kv_view& view, const kv_range& range) const {
  const slot_parent parent = slots().parent(slot);
  const std::int64_t shared = view.quantized.keys.quantizer != nullptr
                                  ? quantized_tokens(parent.length, view.quantized.residual)
                                  : parent.length;
  std::byte* own = prefetcher_->device(*this, range.begin < shared ? parent.slot : slot);
  return own - range.begin / block_tokens * prefetcher_->block_bytes();
}

void offloaded_layer::add_older(const step_row& row, std::vector<byte_copy>& copies) const {
  kv_view host = *host_->view(row.slot, slots().length(row.slot) + (prefetcher_->went(*this) ? row.count : 0));
  const moving part = moving_part(host);
  for (int i = 0; i < part.ranges; ++i) {
    const kv_range& range = part.range[i];
    std::byte* target = device(row.slot, host, range);
    for (std::int64_t block = range.begin / block_tokens; block * block_tokens < range.end; ++block)
      add(range.data + block * part.block_stride, target + block * prefetcher_->block_bytes(), part.block_bytes,
          copies);
  }
}

kv_view offloaded_layer::device_view(int slot, int kv_length) const {
  kv_view view = *host_->view(slot, kv_length);
  const moving part = moving_part(view);
  for (int i = 0; i < part.ranges; ++i) part.range[i].data = device(slot, view, part.range[i]);
  part.block_stride = prefetcher_->block_bytes();
  return view;
}

std::optional<kv_view> offloaded_layer::view(int slot, int kv_length) const {
  if (!prefetcher_->in_step(slot)) return host_->view(slot, kv_length);
  prefetcher_->wait_layer(*this);
  return device_view(slot, kv_length);
}

void offloaded_layer::written(const step& step) {
  const auto on_device_now = [&](const step_row& row) { return prefetcher_->in_step(row.slot); };
  if (!std::all_of(step.rows().begin(), step.rows().end(), on_device_now)) return host_->written(step);
  std::vector<byte_copy> copies;
  for (const step_row& row : step.rows()) {
    const int length = slots().length(row.slot);
    quantize_due(device_view(row.slot, length + row.count), length, row.count);
    add_new(row, copies);
  }
  prefetcher_->write_back(*this, std::move(copies));
}

void offloaded_layer::add_new(const step_row& row, std::vector<byte_copy>& copies) const {
  const int length = slots().length(row.slot);
  const kv_view host = *host_->view(row.slot, length + row.count);
  const kv_view device = device_view(row.slot, length + row.count);
  if (host.quantized.keys.quantizer != nullptr) {
    const due_blocks due = blocks_due(host.quantized, length, row.count);
    const std::int64_t bytes = host.quantized.value_offset + host.kv_heads * host.quantized.value_bytes;
    for (std::int64_t number = due.begin; number < due.end; ++number)
      add(device.quantized.block(number), host.quantized.block(number), bytes, copies);
    return;
  }
  const std::int64_t token = std::int64_t{host.head_dim} * bytes_of(host.type);
  for (int position = length; position < length + row.count;) {
    const int count = std::min(length + row.count - position, block_tokens - position % block_tokens);
    // Keys of new tokens lie among those of older ones, which are the same on both sides.
    add(device.block(position / block_tokens), host.block(position / block_tokens), host.value_offset, copies);
    for (int head = 0; head < host.kv_heads && host.latent_dim == 0; ++head)
      add(device.value(position, head), host.value(position, head), count * token, copies);
    position += count;
  }
}

void offloaded_layer::append(const step& step, const head_rows& k, const head_rows& v) {
  check_new(step, k, v);
  write_step(*this, step, k, v);
  written(step);
}

keys_values offloaded_layer::to_dense(int slot, int length) const {
  if (length > slots().length(slot)) prefetcher_->settle();
  return host_->to_dense(slot, length);
}

layer& offloaded_layer::host_alone() {
  prefetcher_->end();
  return *host_;
}

void offloaded_layer::truncate(int slot, int length) {
  host_alone().truncate(slot, length);
  prefetcher_->shrink(slot, own_blocks(slot, length));
}

void offloaded_layer::release(int slot, int length) {
  host_alone().release(slot, length);
  prefetcher_->shrink(slot, own_blocks(slot, length));
}

void offloaded_layer::clear(int slot) { truncate(slot, 0); }

void offloaded_layer::export_slot(int slot, std::span<std::byte> output, std::vector<byte_copy>& later) const {
  prefetcher_->end();
  host_->export_slot(slot, output, later);
}

slot_footprint offloaded_layer::footprint_terms() const {
  slot_footprint terms = host_->footprint_terms();
  if (prefetcher_->is_first(*this)) terms += prefetcher_->footprint_terms();
  return terms;
}

std::int64_t offloaded_layer::committed_bytes() const {
  return host_->committed_bytes() + (prefetcher_->is_first(*this) ? prefetcher_->committed_bytes() : 0);
}

}  // namespace cogen::cache
