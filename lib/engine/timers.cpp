#include "engine/timers.hpp"

#include "engine/request_state.hpp"
#include "engine/runner/diagnostics_of.hpp"

namespace cogen::detail {
namespace {

std::optional<clock::time_point> expired(request_state& request, clock::time_point now, loop_view& loop) noexcept try {
  return request.expire(now, loop);
} catch (...) {
  request.end_with(diagnostics_of(std::current_exception()), loop);
  return std::nullopt;
}

}  // namespace

void timers::set(clock::time_point time, const std::shared_ptr<request_state>& request) {
  if (request->timer_ && *request->timer_ <= time) return;
  due_.insert_or_assign({time, request.get()}, request);
  cancel(*request);
  request->timer_ = time;
}

void timers::cancel(request_state& request) noexcept {
  if (request.timer_) due_.erase({*request.timer_, &request});
  request.timer_.reset();
}

void timers::expire(clock::time_point now, loop_view& loop,
                    const std::function<void(request_state&)>& notify) noexcept {
  while (!due_.empty() && due_.begin()->first.first <= now) {
    auto timer = due_.extract(due_.begin());
    const auto request = timer.mapped().lock();
    if (!request) continue;
    request->timer_.reset();
    const auto next = expired(*request, now, loop);
    notify(*request);
    if (!next) continue;
    request->timer_ = next;
    timer.key().first = *next;
    due_.insert(std::move(timer));
  }
}

std::optional<clock::time_point> timers::first() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first.first);
}

}  // namespace cogen::detail
