#include "engine/snapshot/swap_store.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace cogen::detail {
namespace {

/// Compresses the exported bytes, or moves them to the file if a range is reserved. Releases `snapshot`, so that bytes
/// stored elsewhere do not stay in memory, too.
std::exception_ptr put_away(std::shared_ptr<stored_snapshot>& snapshot,
                            const std::shared_ptr<compressed_snapshot>& compressed) noexcept try {
  const auto whole = std::move(snapshot);
  compressed ? compressed->pack(whole->bytes()) : whole->move();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

void copy(const kv_snapshot& source, stored_snapshot& target) {
  auto rest = target.bytes();
  const auto read = source.read();
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
                             std::shared_ptr<stored_snapshot>& result) noexcept try {
  result = make();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

/// The snapshot's bytes; empty if they have to be read, decompressed or copied first.
std::span<const std::byte> bytes_in_memory(const kv_snapshot& snapshot) {
  const auto* stored = dynamic_cast<const stored_snapshot*>(&snapshot);
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

void swap_store::find_room(stored_snapshot& snapshot) const {
  const auto size = static_cast<std::int64_t>(snapshot.size());
  if (!room_.file || size <= room_.bytes - *in_memory_) return snapshot.count_in(in_memory_);
  const auto begin = room_.file->take(size);
  if (!begin) throw std::runtime_error("the file of what is swapped out has no gap for it");
  snapshot.reserve(room_.file, *begin);
}

void swap_store::begin(const scheduler::swapping_out& swap, swap_listener& listener) noexcept try {
  const int encoder_input = slots_.encoder_input(swap.slot);
  const auto size = total_bytes(slots_.runs(swap.slot, swap.length));
  if (auto memory = slots_.try_allocate(size))
    return copy_out(swap, std::make_shared<stored_snapshot>(std::move(memory), size, encoder_input), listener);
  make_first(
      swap.name, [this, size, encoder_input] { return stored(size, encoder_input); },
      [this, swap, &listener](auto snapshot) { copy_out(swap, std::move(snapshot), listener); }, listener);
} catch (...) {
  listener.on_swap_done(swap.name, std::current_exception());
}

/// The copies made for scheduler::copy_out() are exact in every format.
void swap_store::copy_out(const scheduler::swapping_out& swap, std::shared_ptr<stored_snapshot> snapshot,
                          swap_listener& listener) noexcept try {
  std::shared_ptr<compressed_snapshot> compressed;
  if (!swap.is_copy && room_.format != swap_format::exact)
    compressed = std::make_shared<compressed_snapshot>(slots_.runs(swap.slot, swap.length), snapshot->encoder_input());
  if (!swap.is_copy) find_room(compressed ? compressed->kept() : *snapshot);
  kept_[swap.name] = compressed ? std::shared_ptr<const kv_snapshot>(compressed) : snapshot;
  const auto target = snapshot->bytes();
  transfer([&](cache::transfer& transfer) {
    slots_.copy_out(swap.slot, swap.length, target, transfer,
                    [this, snapshot, compressed, name = swap.name, &listener](std::exception_ptr error) mutable {
                      if (!error) error = put_away(snapshot, compressed);
                      ended({name, -1}, std::move(error), listener);
                    });
  });
} catch (...) {
  kept_.erase(swap.name);
  listener.on_swap_done(swap.name, std::current_exception());
}

void swap_store::begin(const scheduler::swapping_in& swap, swap_listener& listener) noexcept {
  auto held = std::move(kept_.extract(swap.name).mapped());
  const auto bytes = bytes_in_memory(*held);
  if (!bytes.empty()) return fill(swap, std::move(held), bytes, listener);
  try {
    read_first(swap, std::move(held), listener);
  } catch (...) {
    listener.on_swap_done(swap.name, std::current_exception());
  }
}

/// Reads the snapshot into memory first.
void swap_store::read_first(const scheduler::swapping_in& swap, std::shared_ptr<const kv_snapshot> held,
                            swap_listener& listener) {
  const auto read = [this, held = std::move(held)] {
    auto snapshot = stored(held->size(), held->encoder_input());
    copy(*held, *snapshot);
    return snapshot;
  };
  const auto next = [this, swap, &listener](const auto& snapshot) {
    fill(swap, snapshot, snapshot->bytes(), listener);
  };
  make_first(swap.name, read, next, listener);
}

/// Calls `make` in a job of the transfer, then `use` on the thread that changes the cache, where some layers import
/// their bytes immediately.
void swap_store::make_first(scheduler::swap_id name, const snapshot_maker& make, const snapshot_user& use,
                            swap_listener& listener) {
  const auto result = std::make_shared<std::shared_ptr<stored_snapshot>>();
  std::function<void()> next = [use, result] { use(std::move(*result)); };
  transfer([&](cache::transfer& transfer) {
    transfer.start({}, [this, make, result, next, name, &listener](std::exception_ptr error) mutable {
      if (!error) error = result_of(make, *result);
      if (error) return ended({name, -1}, std::move(error), listener);
      listener.post_to_engine_thread(std::move(next));
      const std::lock_guard lock(mutex_);
      if (--on_their_way_ == 0) none_left_.notify_all();
    });
  });
}

void swap_store::fill(const scheduler::swapping_in& swap, std::shared_ptr<const kv_snapshot> held,
                      std::span<const std::byte> bytes, swap_listener& listener) {
  try {
    transfer([&](cache::transfer& transfer) {
      slots_.copy_in(swap.slot, swap.length, bytes, held->encoder_input(), transfer,
                     [this, held, lost = loss{swap.name, swap.slot}, &listener](std::exception_ptr error) {
                       ended(lost, std::move(error), listener);
                     });
    });
  } catch (...) {
    slots_.clear(swap.slot);
    listener.on_swap_done(swap.name, std::current_exception());
  }
}

/// Counts a transfer that `start` begins, until its end.
template <class Start>
void swap_store::transfer(Start start) {
  if (!room_.transfer) room_.transfer = std::make_shared<cache::worker_transfer>();
  {
    const std::lock_guard lock(mutex_);
    ++on_their_way_;
  }
  try {
    start(*room_.transfer);
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
  listener.on_swap_done(if_it_fails.name, std::move(error));
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
