#include "engine/snapshot/swap_store.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace cogen::detail {
namespace {

/// Compresses the exported bytes, or moves them to the file if a range is reserved. Releases `made`, so that bytes
/// stored elsewhere do not stay in memory, too.
std::exception_ptr put_away(std::shared_ptr<stored_snapshot>& made,
                            const std::shared_ptr<compressed_snapshot>& compressed) noexcept try {
  const auto whole = std::move(made);
  compressed ? compressed->pack(whole->bytes()) : whole->move();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

void copy(const kv_snapshot& from, stored_snapshot& to) {
  auto rest = to.bytes();
  const auto read = from.read();
  for (auto piece = read(); !piece.empty(); piece = read()) {
    std::ranges::copy(piece, rest.begin());
    rest = rest.subspan(piece.size());
  }
}

/// The bytes of a session, which a device does not copy from where they are.
class loaded_snapshot final : public kv_snapshot {
 public:
  loaded_snapshot(std::vector<std::byte> bytes, int encoder_input)
      : bytes_(std::move(bytes)), encoder_input_(encoder_input) {}

  std::size_t size() const noexcept override { return bytes_.size(); }
  int encoder_input() const noexcept override { return encoder_input_; }
  snapshot_reader read() const override {
    return [rest = std::span(bytes_)]() mutable { return std::exchange(rest, {}); };
  }

 private:
  const std::vector<std::byte> bytes_;
  const int encoder_input_;
};

std::exception_ptr result_of(const std::function<std::shared_ptr<stored_snapshot>()>& make,
                             std::shared_ptr<stored_snapshot>& into) noexcept try {
  into = make();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

/// The snapshot's bytes; empty if they have to be read, decompressed or copied first.
std::span<const std::byte> bytes_in_memory(const kv_snapshot& of) {
  const auto* stored = dynamic_cast<const stored_snapshot*>(&of);
  return stored ? stored->bytes() : std::span<const std::byte>();
}

}  // namespace

swap_store::swap_store(cache_slots& slots, swap_room room) : slots_(slots), room_(std::move(room)) {
  lost_.reserve(static_cast<std::size_t>(slots.count()));
}

swap_store::~swap_store() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return on_their_way_ == 0; });
}

std::shared_ptr<const kv_snapshot> swap_store::snapshot(scheduler::swap_id name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? nullptr : found->second;
}

std::shared_ptr<stored_snapshot> swap_store::stored(std::size_t bytes, int encoder_input) const {
  return std::make_shared<stored_snapshot>(slots_.allocate(bytes), bytes, encoder_input);
}

std::shared_ptr<const kv_snapshot> swap_store::make_snapshot(std::vector<std::byte> bytes, int encoder_input) const {
  auto memory = slots_.try_allocate(bytes.size());
  if (!memory) return std::make_shared<loaded_snapshot>(std::move(bytes), encoder_input);
  std::ranges::copy(bytes, memory.get());
  return std::make_shared<stored_snapshot>(std::move(memory), bytes.size(), encoder_input);
}

void swap_store::find_room(stored_snapshot& made) const {
  const auto size = static_cast<std::int64_t>(made.size());
  if (!room_.file || size <= room_.bytes - *in_memory_) return made.count_in(in_memory_);
  const auto begin = room_.file->take(size);
  if (!begin) throw std::runtime_error("the file of what is swapped out has no gap for it");
  made.reserve(room_.file, *begin);
}

void swap_store::begin(const scheduler::swapping_out& what, swap_listener& listener) noexcept try {
  const int encoder_input = slots_.encoder_input(what.slot);
  const auto size = total_bytes(slots_.runs(what.slot, what.length));
  if (auto memory = slots_.try_allocate(size))
    return copy_out(what, std::make_shared<stored_snapshot>(std::move(memory), size, encoder_input), listener);
  make_first(
      what.name, [this, size, encoder_input] { return stored(size, encoder_input); },
      [this, what, &listener](auto made) { copy_out(what, std::move(made), listener); }, listener);
} catch (...) {
  listener.transferred(what.name, std::current_exception());
}

/// The copies made for runner::copy_out() are exact in every format.
void swap_store::copy_out(const scheduler::swapping_out& what, std::shared_ptr<stored_snapshot> made,
                          swap_listener& listener) noexcept try {
  std::shared_ptr<compressed_snapshot> compressed;
  if (!what.beside && room_.format != swap_format::exact)
    compressed = std::make_shared<compressed_snapshot>(slots_.runs(what.slot, what.length), made->encoder_input());
  if (!what.beside) find_room(compressed ? compressed->kept() : *made);
  kept_[what.name] = compressed ? std::shared_ptr<const kv_snapshot>(compressed) : made;
  const auto to = made->bytes();
  transfer([&](cache::transfer& by) {
    slots_.copy_out(what.slot, what.length, to, by,
                    [this, made, compressed, name = what.name, &listener](std::exception_ptr error) mutable {
                      if (!error) error = put_away(made, compressed);
                      ended({name, -1}, std::move(error), listener);
                    });
  });
} catch (...) {
  kept_.erase(what.name);
  listener.transferred(what.name, std::current_exception());
}

void swap_store::begin(const scheduler::swapping_in& what, swap_listener& listener) noexcept {
  auto held = std::move(kept_.extract(what.name).mapped());
  const auto bytes = bytes_in_memory(*held);
  if (!bytes.empty()) return fill(what, std::move(held), bytes, listener);
  try {
    read_first(what, std::move(held), listener);
  } catch (...) {
    listener.transferred(what.name, std::current_exception());
  }
}

/// Reads the snapshot into memory first.
void swap_store::read_first(const scheduler::swapping_in& what, std::shared_ptr<const kv_snapshot> held,
                            swap_listener& listener) {
  const auto read = [this, held = std::move(held)] {
    auto made = stored(held->size(), held->encoder_input());
    copy(*held, *made);
    return made;
  };
  const auto next = [this, what, &listener](const auto& made) { fill(what, made, made->bytes(), listener); };
  make_first(what.name, read, next, listener);
}

/// Calls `make` in a job of the transfer, then `use` on the thread that changes the cache, where some layers import
/// their bytes immediately.
void swap_store::make_first(scheduler::swap_id name, const snapshot_maker& make, const snapshot_user& use,
                            swap_listener& listener) {
  const auto made = std::make_shared<std::shared_ptr<stored_snapshot>>();
  std::function<void()> next = [use, made] { use(std::move(*made)); };
  transfer([&](cache::transfer& by) {
    by.start({}, [this, make, made, next, name, &listener](std::exception_ptr error) mutable {
      if (!error) error = result_of(make, *made);
      if (error) return ended({name, -1}, std::move(error), listener);
      listener.go_on(std::move(next));
      const std::lock_guard lock(mutex_);
      if (--on_their_way_ == 0) none_left_.notify_all();
    });
  });
}

void swap_store::fill(const scheduler::swapping_in& what, std::shared_ptr<const kv_snapshot> held,
                      std::span<const std::byte> bytes, swap_listener& listener) {
  try {
    transfer([&](cache::transfer& by) {
      slots_.copy_in(what.slot, what.length, bytes, held->encoder_input(), by,
                     [this, held, at = loss{what.name, what.slot}, &listener](std::exception_ptr error) {
                       ended(at, std::move(error), listener);
                     });
    });
  } catch (...) {
    slots_.clear(what.slot);
    listener.transferred(what.name, std::current_exception());
  }
}

/// Counts a transfer that `start` begins, until its end.
template <class Start>
void swap_store::transfer(Start start) {
  if (!room_.by) room_.by = std::make_shared<cache::worker_transfer>();
  {
    const std::lock_guard lock(mutex_);
    ++on_their_way_;
  }
  try {
    start(*room_.by);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --on_their_way_;
    throw;
  }
}

void swap_store::ended(loss if_it_fails, std::exception_ptr error, swap_listener& listener) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (error) lost_.push_back(if_it_fails);
  }
  listener.transferred(if_it_fails.name, std::move(error));
  const std::lock_guard lock(mutex_);
  if (--on_their_way_ == 0) none_left_.notify_all();
}

void swap_store::clear_lost() {
  const std::lock_guard lock(mutex_);
  for (const loss& each : lost_) {
    kept_.erase(each.name);
    if (each.slot >= 0) slots_.clear(each.slot);
  }
  lost_.clear();
}

}  // namespace cogen::detail
