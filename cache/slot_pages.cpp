#include "slot_pages.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace cogen::cache {

/// One page for each plane.
struct slot_pages::block {
  block(virtual_memory& memory, std::int64_t planes, std::shared_ptr<std::atomic<std::int64_t>> counter)
      : count(std::move(counter)) {
    pages.reserve(static_cast<std::size_t>(planes));
    for (std::int64_t plane = 0; plane < planes; ++plane) pages.push_back(memory.allocate());
    ++*count;
  }
  ~block() { --*count; }
  block(const block&) = delete;
  block& operator=(const block&) = delete;

  std::vector<memory_page> pages;  // [planes]
  std::shared_ptr<std::atomic<std::int64_t>> count;
};

slot_pages::slot_pages(std::unique_ptr<virtual_memory> memory, const shape& layout, std::int64_t limit,
                       std::function<void()> wait)
    : memory_(std::move(memory)),
      shape_(layout),
      limit_(limit),
      wait_(std::move(wait)),
      blocks_(std::make_shared<std::atomic<std::int64_t>>(0)),
      slots_(static_cast<std::size_t>(layout.slots)) {
  for (auto& each : slots_) each.mapped.reserve(static_cast<std::size_t>(layout.slot_blocks));
  thread_ = std::jthread([this](const std::stop_token& stop) { run_ahead(stop); });
}

slot_pages::~slot_pages() {
  thread_.request_stop();
  thread_.join();
  for (int slot = 0; slot < shape_.slots; ++slot) cut(slot, 0);
}

void slot_pages::reserve(int slot, int count) {
  lock held(mutex_);
  auto& pages = blocks_of(slot);
  if (static_cast<int>(pages.mapped.size()) < count) wait_for_thread(held);
  const int previous = std::exchange(pages.needed, std::max(pages.needed, count));
  const auto first = static_cast<int>(pages.mapped.size());
  if (first >= count) return;
  try {
    const auto added = obtain(count - first);
    map(slot, first, added);
    pages.mapped.insert(pages.mapped.end(), added.begin(), added.end());
  } catch (...) {
    pages.needed = previous;
    throw;
  }
}

void slot_pages::release(int slot, int count) {
  const lock held(mutex_);
  blocks_of(slot).needed = std::min(blocks_of(slot).needed, count);
  blocks_of(slot).ahead = 0;
}

void slot_pages::share(int source, int target, int count) {
  lock held(mutex_);
  wait_for_thread(held);
  auto& taken = blocks_of(target);
  const std::span wanted(blocks_of(source).mapped.begin(), static_cast<std::size_t>(count));
  const auto same = std::ranges::mismatch(wanted, taken.mapped).in1 - wanted.begin();
  if (same < count) {
    const auto first = static_cast<int>(same);
    if (static_cast<int>(taken.mapped.size()) > first) wait_();
    cut(target, first);
    const auto more = wanted.subspan(static_cast<std::size_t>(same));
    map(target, first, more);
    taken.mapped.insert(taken.mapped.end(), more.begin(), more.end());
  }
  taken.needed = count;
}

std::optional<int> slot_pages::make_writable(int slot, int block) {
  lock held(mutex_);
  auto& mapped = blocks_of(slot).mapped;
  const auto index = static_cast<std::size_t>(block);
  if (mapped[index].use_count() == 1) return std::nullopt;
  wait_for_thread(held);
  std::vector<shared_block> replacement;
  try {
    replacement = obtain(1);
  } catch (const std::bad_alloc&) {
    if (mapped[index].use_count() > 1) throw;
  }
  const auto other = std::ranges::find_if(slots_, [&](const slot_blocks& holder) {
    return &holder.mapped != &mapped && holder.mapped.size() > index && holder.mapped[index] == mapped[index];
  });
  if (other == slots_.end()) return std::nullopt;  // others did not need it, and have lost it
  wait_();
  unmap(slot, block, block + 1);
  try {
    map(slot, block, replacement);
  } catch (...) {
    unmap(slot, block + 1, static_cast<int>(mapped.size()));
    mapped.resize(index);
    blocks_of(slot).needed = std::min(blocks_of(slot).needed, block);
    blocks_of(slot).ahead = 0;  // an empty block would be taken for the lost one
    throw;
  }
  mapped[index] = replacement.front();
  return static_cast<int>(other - slots_.begin());
}

void slot_pages::map_ahead(int slot, int count) {
  const lock held(mutex_);
  blocks_of(slot).ahead = std::min(count, shape_.slot_blocks);
  if (blocks_of(slot).ahead > static_cast<int>(blocks_of(slot).mapped.size())) changed_.notify_all();
}

void slot_pages::trim() {
  lock held(mutex_);
  wait_for_thread(held);
  reclaim(static_cast<int>(blocks()));
}

void slot_pages::wait_ahead() {
  lock held(mutex_);
  changed_.wait(held, [&] { return !busy_ && next_ahead() < 0; });
}

int slot_pages::mapped(int slot) const {
  const lock held(mutex_);
  return static_cast<int>(slots_[static_cast<std::size_t>(slot)].mapped.size());
}

/// Until the mutex is left, the thread maps nothing.
void slot_pages::wait_for_thread(lock& held) {
  stopped_ = true;
  changed_.wait(held, [&] { return !busy_; });
  stopped_ = false;
  changed_.notify_all();
}

/// New blocks; where there is no memory for them, slots lose what they do not need.
std::vector<slot_pages::shared_block> slot_pages::obtain(int count) {
  std::vector<shared_block> result;
  result.reserve(static_cast<std::size_t>(count));
  while (static_cast<int>(result.size()) < count) {
    try {
      if (blocks() >= limit_) throw std::bad_alloc();
      result.push_back(std::make_shared<const block>(*memory_, shape_.planes, blocks_));
    } catch (const std::bad_alloc&) {
      if (!reclaim(count - static_cast<int>(result.size()))) throw;
    }
  }
  return result;
}

/// Frees up to `count` blocks that no slot needs. False if there are none.
bool slot_pages::reclaim(int count) {
  bool waited = false;
  const auto previous = blocks();
  for (int slot = 0; slot < shape_.slots; ++slot) {
    auto& pages = blocks_of(slot);
    pages.ahead = 0;
    while (static_cast<int>(pages.mapped.size()) > pages.needed && previous - blocks() < count) {
      if (!std::exchange(waited, true)) wait_();
      cut(slot, static_cast<int>(pages.mapped.size()) - 1);
    }
  }
  return blocks() < previous;
}

/// All planes or none.
void slot_pages::map(int slot, int first, std::span<const shared_block> blocks) {
  std::vector<memory_page> pages(blocks.size());
  std::int64_t plane = 0;
  try {
    for (; plane < shape_.planes; ++plane) {
      for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = blocks[i]->pages[static_cast<std::size_t>(plane)];
      memory_->map((plane * shape_.slots + slot) * shape_.slot_blocks + first, pages);
    }
  } catch (...) {
    while (plane-- > 0)
      memory_->unmap((plane * shape_.slots + slot) * shape_.slot_blocks + first,
                     static_cast<std::int64_t>(pages.size()));
    throw;
  }
}

void slot_pages::unmap(int slot, int first, int end) noexcept {
  for (std::int64_t plane = 0; plane < shape_.planes; ++plane)
    memory_->unmap((plane * shape_.slots + slot) * shape_.slot_blocks + first, end - first);
}

/// The slot has its first `count` blocks at most.
void slot_pages::cut(int slot, int count) noexcept {
  auto& mapped = blocks_of(slot).mapped;
  if (static_cast<int>(mapped.size()) <= count) return;
  unmap(slot, count, static_cast<int>(mapped.size()));
  mapped.resize(static_cast<std::size_t>(count));
}

/// A slot that wants a block ahead, for which there is memory; -1: none.
int slot_pages::next_ahead() const {
  if (blocks() >= limit_) return -1;
  const auto found = std::ranges::find_if(
      slots_, [](const slot_blocks& pages) { return pages.ahead > static_cast<int>(pages.mapped.size()); });
  return found == slots_.end() ? -1 : static_cast<int>(found - slots_.begin());
}

/// What is refused here is refused again where it is needed, or not needed.
void slot_pages::run_ahead(const std::stop_token& stop) {
  lock held(mutex_);
  while (changed_.wait(held, stop, [&] { return !stopped_ && next_ahead() >= 0; }), !stop.stop_requested()) {
    const int slot = next_ahead();
    auto& pages = blocks_of(slot);
    const auto first = static_cast<int>(pages.mapped.size());
    busy_ = true;
    held.unlock();
    shared_block added;
    try {
      added = std::make_shared<const block>(*memory_, shape_.planes, blocks_);
      map(slot, first, {&added, 1});
    } catch (...) {
      added = nullptr;
    }
    held.lock();
    busy_ = false;
    if (added)
      pages.mapped.push_back(std::move(added));
    else
      pages.ahead = 0;
    changed_.notify_all();
  }
}

}  // namespace cogen::cache
