#include "engine/stream/token_channel.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {

piece token_channel::pop() {
  auto front = std::move(pieces_.front());
  pieces_.pop_front();
  count_read();
  return front;
}

void token_channel::request() {
  if (capacity_ == 0 && !std::exchange(requested_, true)) ++owed_;
}

void token_channel::request_all() {
  awaits_reader_ = false;
  const int ready = static_cast<int>(pieces_.size());
  const int uncredited = ready - std::exchange(credited_, ready);
  if (capacity_ > 0) owed_ += uncredited;
  request();
}

bool token_channel::is_low() const noexcept { return owed_ >= std::max(1, capacity_ / 2); }

void token_channel::push(piece&& delta) {
  requested_ = false;
  if (pieces_.full()) pieces_.set_capacity(std::max<std::size_t>(2, 2 * pieces_.capacity()));
  pieces_.push_back(std::move(delta));
}

int token_channel::take_credits() {
  const int credits = std::exchange(owed_, 0);
  if (credits > 0) awaits_reader_ = false;
  return credits;
}

void token_channel::count_read() {
  if (credited_ > 0)
    --credited_;
  else if (capacity_ > 0)
    ++owed_;
}

}  // namespace cogen::detail
