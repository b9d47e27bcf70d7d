#include "http/byte_budget.hpp"

namespace server::http {

bool byte_budget::take(std::uint64_t bytes) noexcept {
  auto taken = taken_.load();
  do {
    if (bytes > limit_ - taken) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

counted_bytes& counted_bytes::operator=(counted_bytes&& other) noexcept {
  if (this == &other) return *this;
  release();
  budget_ = std::move(other.budget_);
  counted_ = std::exchange(other.counted_, 0);
  return *this;
}

bool counted_bytes::grow_to(std::uint64_t bytes) noexcept {
  const auto counted = bytes > uncounted ? bytes - uncounted : 0;
  if (!budget_ || counted <= counted_) return true;
  if (!budget_->take(counted - counted_)) return false;
  counted_ = counted;
  return true;
}

void counted_bytes::release() noexcept {
  if (budget_) budget_->give_back(counted_);
  counted_ = 0;
}

}  // namespace server::http
