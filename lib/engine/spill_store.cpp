#include "engine/spill_store.hpp"

#include <span>
#include <utility>

namespace cogen::detail {

spill_store::spill_store(cache::cache& slots, std::shared_ptr<cache::transfer> by) : slots_(slots), by_(std::move(by)) {
  lost_.reserve(static_cast<std::size_t>(slots.slots()));
}

spill_store::~spill_store() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return on_their_way_ == 0; });
}

std::shared_ptr<spill_store::image> spill_store::make_image(int slot) const {
  auto made = std::make_shared<image>();
  made->source = slots_.source_length(slot);
  made->size = static_cast<std::size_t>(slots_.exported_bytes(slots_.length(slot), made->source));
  made->bytes = std::make_unique_for_overwrite<std::byte[]>(made->size);
  return made;
}

void spill_store::begin(const scheduler::spilling& what, transfer_listener& told) noexcept try {
  auto made = make_image(what.slot);
  auto copies = slots_.begin_export(what.slot, {made->bytes.get(), made->size});
  kept_[what.name] = made;
  start(std::move(copies), std::move(made), {what.name, -1}, told);
} catch (...) {
  kept_.erase(what.name);
  told.transferred(what.name, std::current_exception());
}

void spill_store::begin(const scheduler::restoring& what, transfer_listener& told) noexcept {
  const auto found = kept_.extract(what.name);
  try {
    const auto& held = found.mapped();
    auto copies = slots_.begin_import(what.slot, what.length, {held->bytes.get(), held->size}, held->source);
    start(std::move(copies), held, {what.name, what.slot}, told);
  } catch (...) {
    slots_.clear(what.slot);
    told.transferred(what.name, std::current_exception());
  }
}

void spill_store::start(std::vector<cache::byte_copy> copies, std::shared_ptr<image> held, loss if_it_fails,
                        transfer_listener& told) {
  if (!by_) by_ = std::make_shared<cache::worker_transfer>();
  {
    const std::lock_guard lock(mutex_);
    ++on_their_way_;
  }
  try {
    by_->start(std::move(copies), [this, held, if_it_fails, &told](std::exception_ptr error) {
      ended(if_it_fails, std::move(error), told);
    });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --on_their_way_;
    throw;
  }
}

void spill_store::ended(loss if_it_fails, std::exception_ptr error, transfer_listener& told) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (error) lost_.push_back(if_it_fails);
  }
  told.transferred(if_it_fails.name, std::move(error));
  const std::lock_guard lock(mutex_);
  if (--on_their_way_ == 0) none_left_.notify_all();
}

void spill_store::clear_lost() {
  const std::lock_guard lock(mutex_);
  for (const loss& each : lost_) {
    kept_.erase(each.name);
    if (each.slot >= 0) slots_.clear(each.slot);
  }
  lost_.clear();
}

}  // namespace cogen::detail
