#include "engine/timers.hpp"

#include "engine/request_state.hpp"
#include "engine/runner/diagnostics_of.hpp"

namespace cogen::detail {
namespace {

std::optional<clock::time_point> expired(request_state& one, clock::time_point now, loop_view& loop) noexcept try {
  return one.expire(now, loop);
} catch (...) {
  one.end_with(diagnostics_of(std::current_exception()), loop);
  return std::nullopt;
}

}  // namespace

void timers::set(clock::time_point time, const std::shared_ptr<request_state>& one) {
  if (one->timer_ && *one->timer_ <= time) return;
  due_.insert_or_assign({time, one.get()}, one);
  cancel(*one);
  one->timer_ = time;
}

void timers::cancel(request_state& one) noexcept {
  if (one.timer_) due_.erase({*one.timer_, &one});
  one.timer_.reset();
}

void timers::expire(clock::time_point now, loop_view& loop,
                    const std::function<void(request_state&)>& notify) noexcept {
  while (!due_.empty() && due_.begin()->first.first <= now) {
    auto timer = due_.extract(due_.begin());
    const auto one = timer.mapped().lock();
    if (!one) continue;
    one->timer_.reset();
    const auto next = expired(*one, now, loop);
    notify(*one);
    if (!next) continue;
    one->timer_ = next;
    timer.key().first = *next;
    due_.insert(std::move(timer));
  }
}

std::optional<clock::time_point> timers::first() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first.first);
}

}  // namespace cogen::detail
