#include "layer_prefetcher.hpp"

#include "offloaded_layer.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

namespace cogen::cache {

struct awaited_job::state {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;        // guarded by mutex
  std::exception_ptr error;  // guarded by mutex

  void end(std::exception_ptr with) {
    const std::lock_guard lock(mutex);
    ended = true;
    error = std::move(with);
    changed.notify_all();
  }
};

awaited_job::awaited_job(transfer& through, std::vector<byte_copy> copies) : state_(std::make_shared<state>()) {
  through.start(std::move(copies), [state = state_](std::exception_ptr error) { state->end(std::move(error)); });
}

void awaited_job::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->ended; });
  if (state_->error) std::rethrow_exception(state_->error);
}

layer_prefetcher::layer_prefetcher(std::shared_ptr<transfer> through, int slots, std::int64_t blocks,
                                   std::int64_t block_bytes)
    : through_(std::move(through)),
      block_bytes_(block_bytes),
      slot_stride_(product(blocks, block_bytes)),
      memory_(product(2 * std::int64_t{slots}, slot_stride_)),
      committed_(static_cast<std::size_t>(slots)) {}

std::byte* layer_prefetcher::region(int slot, std::size_t buffer) const {
  return memory_.data() + (2 * slot + static_cast<std::int64_t>(buffer)) * slot_stride_;
}

layer_prefetcher::~layer_prefetcher() { end(); }

void layer_prefetcher::add(const offloaded_layer& layer) {
  layers_.push_back(&layer);
  went_.push_back(false);
}

void layer_prefetcher::begin(const step& step, std::span<const device_room> rooms) {
  end();
  previous_ = committed_;
  try {
    for (const device_room& room : rooms) grow(room);
    rows_.assign(step.rows().begin(), step.rows().end());
  } catch (...) {
    for (const device_room& room : rooms) shrink(room.slot, previous_[static_cast<std::size_t>(room.slot)]);
    throw;
  }
}

void layer_prefetcher::grow(const device_room& room) {
  int& has = committed_[static_cast<std::size_t>(room.slot)];
  if (room.blocks <= has) return;
  const std::int64_t added = (room.blocks - has) * block_bytes_;
  const auto offset = [&](std::size_t buffer) {
    return region(room.slot, buffer) + has * block_bytes_ - memory_.data();
  };
  memory_.commit(offset(0), added);
  try {
    memory_.commit(offset(1), added);
  } catch (...) {
    memory_.release(offset(0), added);
    throw;
  }
  has = room.blocks;
}

void layer_prefetcher::shrink(int slot, int blocks) noexcept {
  int& has = committed_[static_cast<std::size_t>(slot)];
  if (has <= blocks) return;
  for (std::size_t buffer = 0; buffer < buffers_.size(); ++buffer)
    memory_.release(region(slot, buffer) + blocks * block_bytes_ - memory_.data(), (has - blocks) * block_bytes_);
  has = blocks;
}

bool layer_prefetcher::in_step(int slot) const noexcept {
  return !failed_ && std::any_of(rows_.begin(), rows_.end(), [&](const step_row& row) { return row.slot == slot; });
}

std::size_t layer_prefetcher::index_of(const offloaded_layer& layer) const {
  return static_cast<std::size_t>(std::find(layers_.begin(), layers_.end(), &layer) - layers_.begin());
}

std::byte* layer_prefetcher::device(const offloaded_layer& layer, int slot) const {
  return region(slot, index_of(layer) % 2);
}

template <class Act>
void layer_prefetcher::remembering_failure(Act act) {
  try {
    act();
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
}

void layer_prefetcher::fail(std::exception_ptr error) noexcept {
  if (!failed_) failed_ = std::move(error);
  drain();
}

void layer_prefetcher::fetch(std::size_t index) {
  buffer& target = buffers_[index % 2];
  const offloaded_layer& layer = *layers_[index];
  if (target.holds == &layer) return;
  std::vector<byte_copy> copies;
  for (const step_row& row : rows_) layer.add_older(row, copies);
  const auto goes_to = [](const byte_copy& copy) { return copy.target.data(); };
  std::ranges::sort(copies, {}, goes_to);
  const auto twice = std::ranges::unique(copies, {}, goes_to);
  copies.erase(twice.begin(), twice.end());
  awaited_job coming(*through_, std::move(copies));  // even if empty: it must come after the copies out of this buffer
  target.coming = std::move(coming);
  target.holds = &layer;
}

void layer_prefetcher::wait_layer(const offloaded_layer& layer) {
  const std::size_t index = index_of(layer);
  remembering_failure([&] {
    fetch(index);
    buffers_[index % 2].coming->wait();
    if (index + 1 < layers_.size()) fetch(index + 1);
  });
}

void layer_prefetcher::write_back(const offloaded_layer& layer, std::vector<byte_copy> copies) {
  if (!copies.empty()) remembering_failure([&] { going_.emplace_back(*through_, std::move(copies)); });
  went_[index_of(layer)] = true;
}

void layer_prefetcher::drain() noexcept {
  const auto wait = [&](const awaited_job& job) {
    try {
      job.wait();
    } catch (...) {
      if (!failed_) failed_ = std::current_exception();
    }
  };
  for (const buffer& each : buffers_)
    if (each.coming) wait(*each.coming);
  std::for_each(going_.begin(), going_.end(), wait);
  going_.clear();
}

void layer_prefetcher::settle() {
  drain();
  if (failed_) std::rethrow_exception(failed_);
}

void layer_prefetcher::end() noexcept {
  drain();
  failed_ = nullptr;
  rows_.clear();
  std::fill(went_.begin(), went_.end(), false);
  buffers_ = {};
}

std::int64_t layer_prefetcher::committed_bytes() const {
  std::int64_t blocks = 0;
  for (const int each : committed_) blocks += each;
  return 2 * blocks * block_bytes_;
}

}  // namespace cogen::cache
