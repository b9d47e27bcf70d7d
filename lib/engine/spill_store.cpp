#include "engine/spill_store.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace cogen::detail {
namespace {

/// What was exported goes where it is kept. Nothing else holds it then, where that is elsewhere.
std::exception_ptr put_away(std::shared_ptr<stored_image>& made, const std::shared_ptr<packed_image>& packed) noexcept
    try {
  const auto whole = std::move(made);
  packed ? packed->pack(whole->bytes()) : whole->move();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

std::exception_ptr copy(const slot_image& from, stored_image& to) noexcept try {
  auto rest = to.bytes();
  from.read([&](std::span<const std::byte> piece) {
    std::ranges::copy(piece, rest.begin());
    rest = rest.subspan(piece.size());
  });
  return nullptr;
} catch (...) {
  return std::current_exception();
}

/// Empty where they have to be read first.
std::span<const std::byte> bytes_in_memory(const slot_image& of) {
  const auto* stored = dynamic_cast<const stored_image*>(&of);
  return stored ? stored->bytes() : std::span<const std::byte>();
}

}  // namespace

spill_store::spill_store(cache::cache& slots, std::shared_ptr<cache::transfer> by, spill_room room)
    : slots_(slots), by_(std::move(by)), room_(std::move(room)) {
  lost_.reserve(static_cast<std::size_t>(slots.slots()));
}

spill_store::~spill_store() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return on_their_way_ == 0; });
}

std::shared_ptr<const slot_image> spill_store::image(scheduler::ticket name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? nullptr : found->second;
}

std::shared_ptr<stored_image> spill_store::make_image(int slot) const {
  const int source = slots_.source_length(slot);
  const auto size = static_cast<std::size_t>(slots_.exported_bytes(slots_.length(slot), source));
  return std::make_shared<stored_image>(size, source);
}

/// Null where it is kept as it is exported: what is copied for somebody else always is.
std::shared_ptr<packed_image> spill_store::make_packed(const scheduler::spilling& what) const {
  if (what.beside || room_.format == spill_format::exact) return nullptr;
  const int source = slots_.source_length(what.slot);
  return std::make_shared<packed_image>(slots_.exported_runs(slots_.length(what.slot), source), source);
}

void spill_store::find_room(stored_image& made) const {
  const auto size = static_cast<std::int64_t>(made.size());
  if (!room_.file || size <= room_.bytes - *in_memory_) return made.count_in(in_memory_);
  const auto begin = room_.file->take(size);
  if (!begin) throw std::runtime_error("the file of what is spilled has no gap for it");
  made.reserve(room_.file, *begin);
}

void spill_store::begin(const scheduler::spilling& what, transfer_listener& told) noexcept try {
  auto made = make_image(what.slot);
  auto packed = make_packed(what);
  if (!what.beside) find_room(packed ? packed->kept() : *made);
  auto copies = slots_.begin_export(what.slot, made->bytes());
  kept_[what.name] = packed ? std::shared_ptr<const slot_image>(packed) : made;
  start(std::move(copies), [this, made, packed, name = what.name, &told](std::exception_ptr error) mutable {
    if (!error) error = put_away(made, packed);
    ended({name, -1}, std::move(error), told);
  });
} catch (...) {
  kept_.erase(what.name);
  told.transferred(what.name, std::current_exception());
}

void spill_store::begin(const scheduler::restoring& what, transfer_listener& told) noexcept {
  auto held = std::move(kept_.extract(what.name).mapped());
  const auto bytes = bytes_in_memory(*held);
  if (!bytes.empty()) return fill(what, std::move(held), bytes, told);
  try {
    read_first(what, std::move(held), told);
  } catch (...) {
    told.transferred(what.name, std::current_exception());
  }
}

/// Some layers take their bytes at once, on the thread that changes the cache.
void spill_store::read_first(const scheduler::restoring& what, std::shared_ptr<const slot_image> held,
                             transfer_listener& told) {
  auto read = std::make_shared<stored_image>(held->size(), held->source());
  std::function<void()> next = [this, what, read, &told] { fill(what, read, read->bytes(), told); };
  start({}, [this, held, read, next, name = what.name, &told](std::exception_ptr error) mutable {
    if (!error) error = copy(*held, *read);
    if (error) return ended({name, -1}, std::move(error), told);
    told.go_on(std::move(next));
    const std::lock_guard lock(mutex_);
    if (--on_their_way_ == 0) none_left_.notify_all();
  });
}

void spill_store::fill(const scheduler::restoring& what, std::shared_ptr<const slot_image> held,
                       std::span<const std::byte> bytes, transfer_listener& told) {
  try {
    auto copies = slots_.begin_import(what.slot, what.length, bytes, held->source());
    start(std::move(copies), [this, held, at = loss{what.name, what.slot}, &told](std::exception_ptr error) {
      ended(at, std::move(error), told);
    });
  } catch (...) {
    slots_.clear(what.slot);
    told.transferred(what.name, std::current_exception());
  }
}

template <class Done>
void spill_store::start(std::vector<cache::byte_copy> copies, Done done) {
  if (!by_) by_ = std::make_shared<cache::worker_transfer>();
  {
    const std::lock_guard lock(mutex_);
    ++on_their_way_;
  }
  try {
    by_->start(std::move(copies), std::move(done));
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
