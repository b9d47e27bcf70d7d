#include "engine/device_road.hpp"

namespace cogen::detail {

device_road::device_road(const device::place& where, device::queue& work, const cache::device_cache& memory)
    : work_(work), memory_(memory), coming_(where.make_queue()), going_(where.make_queue()) {}

void device_road::begin(std::span<const scheduler::row> rows) {
  rows_.clear();
  for (const auto& row : rows) rows_.push_back({row.slot, memory_.length(row.slot), row.count});
  fetch(0);
}

/// The next layer comes to where the one before this was, once that has been read and has gone back.
void device_road::need(int layer) {
  work_.after(*coming_);
  if (layer + 1 < memory_.layers()) fetch(layer + 1);
}

void device_road::fetch(int layer) {
  coming_->after(work_);
  coming_->after(*going_);
  for (const auto& row : rows_) {
    const auto tokens = memory_.moving(layer, row.slot, 0, row.held);
    coming_->copy_rows(tokens.near, tokens.far);
  }
}

void device_road::appended(int layer) {
  going_->after(work_);
  for (const auto& row : rows_) {
    const auto tokens = memory_.moving(layer, row.slot, row.held, row.held + row.count);
    going_->copy_rows(tokens.far, tokens.near);
  }
}

void device_road::end() { work_.after(*going_); }

}  // namespace cogen::detail
