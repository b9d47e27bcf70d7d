#include "engine/device_spills.hpp"

#include <utility>

namespace cogen::detail {

device_spills::device_spills(const device::place& where, cache::device_cache& slots)
    : where_(where), slots_(slots), copies_(where.make_queue()) {
  lost_.reserve(static_cast<std::size_t>(slots.slots()));
}

device_spills::~device_spills() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return on_their_way_ == 0; });
}

void device_spills::begin(const scheduler::spilling& what, device::queue& work, transfer_listener& told) noexcept try {
  const auto from = slots_.tokens_of(what.slot, what.length);
  const auto to =
      where_.make_host(static_cast<std::int64_t>(from.nbytes())).view(from.scalar_type()).view(from.sizes());
  kept_[what.name] = to;
  copy(to, from, work, {what.name, -1}, told);
} catch (...) {
  kept_.erase(what.name);
  told.transferred(what.name, std::current_exception());
}

void device_spills::begin(const scheduler::restoring& what, device::queue& work, transfer_listener& told) noexcept try {
  const auto held = std::move(kept_.extract(what.name).mapped());
  slots_.fill(what.slot, what.length);
  copy(slots_.tokens_of(what.slot, what.length), held, work, {what.name, what.slot}, told);
} catch (...) {
  slots_.clear(what.slot);
  told.transferred(what.name, std::current_exception());
}

/// Both sides live until the copy has ended.
void device_spills::copy(const at::Tensor& to, const at::Tensor& from, device::queue& work, loss if_it_fails,
                         transfer_listener& told) {
  copies_->after(work);
  copies_->copy_rows(to, from);
  {
    const std::lock_guard lock(mutex_);
    ++on_their_way_;
  }
  try {
    copies_->then(
        [this, if_it_fails, to, from, &told](const std::exception_ptr& error) { ended(if_it_fails, error, told); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --on_their_way_;
    throw;
  }
}

void device_spills::ended(loss if_it_fails, const std::exception_ptr& error, transfer_listener& told) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (error) lost_.push_back(if_it_fails);
  }
  told.transferred(if_it_fails.name, error);
  const std::lock_guard lock(mutex_);
  if (--on_their_way_ == 0) none_left_.notify_all();
}

void device_spills::clear_lost() {
  const std::lock_guard lock(mutex_);
  for (const auto& each : lost_) {
    kept_.erase(each.name);
    if (each.slot >= 0) slots_.clear(each.slot);
  }
  lost_.clear();
}

}  // namespace cogen::detail
