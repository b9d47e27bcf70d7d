#include "engine/swap_completions.hpp"

#include <utility>

namespace cogen::detail {

swap_completions::swap_completions(int slots, int steps, std::function<void()> wake)
    : room_(2 * static_cast<std::size_t>(slots) + static_cast<std::size_t>(steps)), wake_(std::move(wake)) {
  completed_.reserve(room_);
}

void swap_completions::on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept {
  put({name, std::move(error), {}});
}

void swap_completions::post_to_engine_thread(std::function<void()> job) noexcept { put({{}, nullptr, std::move(job)}); }

void swap_completions::put(completion swap) noexcept {
  {
    const std::lock_guard lock(mutex_);
    completed_.push_back(std::move(swap));
  }
  wake_();
}

std::vector<swap_completions::completion> swap_completions::take() {
  if (empty()) return {};
  std::vector<completion> taken;
  taken.reserve(room_);
  const std::lock_guard lock(mutex_);
  taken.swap(completed_);
  return taken;
}

bool swap_completions::empty() const noexcept {
  const std::lock_guard lock(mutex_);
  return completed_.empty();
}

}  // namespace cogen::detail
