#include "snapshot/device_swap.hpp"

#include <utility>

namespace cogen::detail {

device_swap::device_swap(const device::backend& where, cache::device_cache& slots)
    : where_(where), slots_(slots), copies_(where.make_stream()) {
  lost_.reserve(static_cast<std::size_t>(slots.slots()));
}

device_swap::~device_swap() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return on_their_way_ == 0; });
}

void device_swap::begin(const scheduler::swapping_out& what, device::stream& work, swap_listener& listener) noexcept
    try {
  const auto from = slots_.parts_of(what.slot, what.length);
  parts to;
  for (const auto& part : from)
    to.push_back(
        where_.make_host(static_cast<std::int64_t>(part.nbytes())).view(part.scalar_type()).view(part.sizes()));
  kept_[what.name] = to;
  copy(to, from, work, {what.name, -1}, listener);
} catch (...) {
  kept_.erase(what.name);
  listener.transferred(what.name, std::current_exception());
}

void device_swap::begin(const scheduler::swapping_in& what, device::stream& work, swap_listener& listener) noexcept
    try {
  const auto held = std::move(kept_.extract(what.name).mapped());
  slots_.fill(what.slot, what.length);
  copy(slots_.parts_of(what.slot, what.length), held, work, {what.name, what.slot}, listener);
} catch (...) {
  slots_.clear(what.slot);
  listener.transferred(what.name, std::current_exception());
}

/// The completion handler keeps `to` and `from` alive until the copy has ended.
void device_swap::copy(const parts& to, const parts& from, device::stream& work, loss if_it_fails,
                       swap_listener& listener) {
  copies_->after(work);
  for (std::size_t part = 0; part < from.size(); ++part) copies_->copy_rows(to[part], from[part]);
  {
    const std::lock_guard lock(mutex_);
    ++on_their_way_;
  }
  try {
    copies_->then([this, if_it_fails, to, from, &listener](const std::exception_ptr& error) {
      ended(if_it_fails, error, listener);
    });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --on_their_way_;
    throw;
  }
}

void device_swap::ended(loss if_it_fails, const std::exception_ptr& error, swap_listener& listener) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (error) lost_.push_back(if_it_fails);
  }
  listener.transferred(if_it_fails.name, error);
  const std::lock_guard lock(mutex_);
  if (--on_their_way_ == 0) none_left_.notify_all();
}

void device_swap::clear_lost() {
  const std::lock_guard lock(mutex_);
  for (const auto& each : lost_) {
    kept_.erase(each.name);
    if (each.slot >= 0) slots_.clear(each.slot);
  }
  lost_.clear();
}

}  // namespace cogen::detail
