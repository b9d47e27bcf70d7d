#include "engine/timers.hpp"

#include "engine/diagnostics_of.hpp"
#include "engine/request_state.hpp"

namespace cogen::detail {
namespace {

std::optional<clock::time_point> woken(request_state& seq, clock::time_point now) noexcept try {
  return seq.expire(now);
} catch (...) {
  seq.end_with(diagnostics_of(std::current_exception()));
  return std::nullopt;
}

}  // namespace

void timers::set(clock::time_point time, const std::shared_ptr<request_state>& seq) {
  if (seq->timer_ && *seq->timer_ <= time) return;
  due_.insert_or_assign({time, seq.get()}, seq);
  forget(*seq);
  seq->timer_ = time;
}

void timers::forget(request_state& seq) noexcept {
  if (seq.timer_) due_.erase({*seq.timer_, &seq});
  seq.timer_.reset();
}

void timers::fire(clock::time_point now, const std::function<void(request_state&)>& notify) noexcept {
  while (!due_.empty() && due_.begin()->first.first <= now) {
    auto timer = due_.extract(due_.begin());
    const auto seq = timer.mapped().lock();
    if (!seq) continue;
    seq->timer_.reset();
    const auto next = woken(*seq, now);
    notify(*seq);
    if (!next) continue;
    seq->timer_ = next;
    timer.key().first = *next;
    due_.insert(std::move(timer));
  }
}

std::optional<clock::time_point> timers::first() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first.first);
}

}  // namespace cogen::detail
