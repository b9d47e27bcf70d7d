#include "network/nn/device/kv_prefetcher.hpp"

namespace cogen::nn {

kv_prefetcher::kv_prefetcher(const device::backend& where, device::stream& work, const cache::device_cache& memory)
    : work_(work), memory_(memory), coming_(where.make_stream()), going_(where.make_stream()) {}

void kv_prefetcher::begin(std::span<const token_row> rows) {
  rows_.clear();
  for (const auto& row : rows)
    rows_.push_back({row.slot, memory_.length(row.slot), static_cast<int>(row.tokens.size())});
  on_device_ = {-1, -1};
  newest_ = -1;
  fetch(0);
}

/// The next layer replaces the previous one on the device, once that has been read and its new tokens copied back. One
/// that is read again comes back with the step's tokens.
void kv_prefetcher::wait_layer(int layer) {
  if (on_device(layer) != layer) fetch(layer);
  work_.after(*coming_);
  if (layer <= newest_) return;
  newest_ = layer;
  if (layer + 1 < memory_.layers()) fetch(layer + 1);
}

void kv_prefetcher::fetch(int layer) {
  coming_->after(work_);
  coming_->after(*going_);
  on_device(layer) = layer;
  for (const auto& row : rows_) {
    const auto tokens = memory_.moving(layer, row.slot, 0, row.held + (layer <= newest_ ? row.count : 0));
    coming_->copy_rows(tokens.device, tokens.host);
  }
}

void kv_prefetcher::store_layer(int layer) {
  going_->after(work_);
  for (const auto& row : rows_) {
    const auto tokens = memory_.moving(layer, row.slot, row.held, row.held + row.count);
    going_->copy_rows(tokens.host, tokens.device);
  }
}

void kv_prefetcher::end() { work_.after(*going_); }

}  // namespace cogen::nn
