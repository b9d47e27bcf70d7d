#include "offload.hpp"

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

offload::offload(std::shared_ptr<transfer> through, int slots, std::int64_t blocks, std::int64_t block_bytes)
    : through_(std::move(through)),
      block_bytes_(block_bytes),
      slot_stride_(blocks * block_bytes),
      memory_(2 * slots * slot_stride_),
      committed_(static_cast<std::size_t>(slots)) {}

std::byte* offload::region(int slot, std::size_t buffer) const {
  return memory_.data() + (2 * slot + static_cast<std::int64_t>(buffer)) * slot_stride_;
}

offload::~offload() { drain(); }

void offload::add(const offloaded_layer& layer) {
  layers_.push_back(&layer);
  went_.push_back(false);
}

void offload::begin(const step& step, std::span<const int> blocks) {
  drain();
  end();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const int slot = step.rows()[i].slot;
    int& has = committed_[static_cast<std::size_t>(slot)];
    if (blocks[i] <= has) continue;
    for (std::size_t buffer = 0; buffer < buffers_.size(); ++buffer)
      memory_.commit(region(slot, buffer) + has * block_bytes_ - memory_.data(), (blocks[i] - has) * block_bytes_);
    has = blocks[i];
  }
  rows_.assign(step.rows().begin(), step.rows().end());
}

std::size_t offload::index_of(const offloaded_layer& layer) const {
  return static_cast<std::size_t>(std::find(layers_.begin(), layers_.end(), &layer) - layers_.begin());
}

std::byte* offload::near(const offloaded_layer& layer, int slot) const { return region(slot, index_of(layer) % 2); }

void offload::fetch(std::size_t index) {
  buffer& to = buffers_[index % 2];
  const offloaded_layer& layer = *layers_[index];
  if (to.holds == &layer) return;
  to.holds = &layer;
  to.coming.clear();
  std::vector<byte_copy> copies;
  for (const step_row& row : rows_) layer.add_older(row, copies);
  to.coming.emplace_back(*through_,
                         std::move(copies));  // also an empty job: it ends after what still leaves the buffer
}

void offload::need(const offloaded_layer& layer) {
  const std::size_t index = index_of(layer);
  fetch(index);
  for (const awaited_job& job : buffers_[index % 2].coming) job.wait();
  if (index + 1 < layers_.size()) fetch(index + 1);
}

void offload::write_back(const offloaded_layer& layer, std::vector<byte_copy> copies) {
  went_[index_of(layer)] = true;
  if (!copies.empty()) going_.emplace_back(*through_, std::move(copies));
}

void offload::settle() {
  std::exception_ptr first;
  const auto wait = [&](const awaited_job& job) {
    try {
      job.wait();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  };
  for (const buffer& each : buffers_) std::for_each(each.coming.begin(), each.coming.end(), wait);
  std::for_each(going_.begin(), going_.end(), wait);
  for (buffer& each : buffers_) each.coming.clear();
  going_.clear();
  if (first) std::rethrow_exception(first);
}

void offload::drain() noexcept {
  try {
    settle();
  } catch (...) {  // of a step that has failed, or is given up
  }
}

void offload::end() noexcept {
  rows_.clear();
  std::fill(went_.begin(), went_.end(), false);
  buffers_ = {};
}

void offload::release(int slot) noexcept {
  int& has = committed_[static_cast<std::size_t>(slot)];
  if (has > 0)
    for (std::size_t buffer = 0; buffer < buffers_.size(); ++buffer)
      memory_.release(region(slot, buffer) - memory_.data(), has * block_bytes_);
  has = 0;
}

std::int64_t offload::committed_bytes() const {
  std::int64_t blocks = 0;
  for (const int each : committed_) blocks += each;
  return 2 * blocks * block_bytes_;
}

}  // namespace cogen::cache
