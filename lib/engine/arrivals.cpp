#include "engine/arrivals.hpp"

#include <utility>

namespace cogen::detail {

arrivals::arrivals(int slots, std::function<void()> wake)
    : room_(2 * static_cast<std::size_t>(slots)), wake_(std::move(wake)) {
  arrived_.reserve(room_);
}

void arrivals::transferred(scheduler::swap_id name, std::exception_ptr error) noexcept {
  put({name, std::move(error), {}});
}

void arrivals::go_on(std::function<void()> job) noexcept { put({{}, nullptr, std::move(job)}); }

void arrivals::put(arrival what) noexcept {
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(what));
  }
  wake_();
}

std::vector<arrivals::arrival> arrivals::take() {
  if (empty()) return {};
  std::vector<arrival> taken;
  taken.reserve(room_);
  const std::lock_guard lock(mutex_);
  taken.swap(arrived_);
  return taken;
}

bool arrivals::empty() const noexcept {
  const std::lock_guard lock(mutex_);
  return arrived_.empty();
}

}  // namespace cogen::detail
