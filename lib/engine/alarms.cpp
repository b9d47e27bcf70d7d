#include "engine/alarms.hpp"

#include "engine/failure_of.hpp"
#include "engine/participant.hpp"

namespace cogen::detail {
namespace {

std::optional<clock::time_point> woken(participant& whom, clock::time_point now) noexcept try {
  return whom.expire(now);
} catch (...) {
  whom.give_up(failure_of(std::current_exception()));
  return std::nullopt;
}

}  // namespace

void alarms::set(clock::time_point time, const std::shared_ptr<participant>& whom) {
  if (whom->alarm_ && *whom->alarm_ <= time) return;
  due_.insert_or_assign({time, whom.get()}, whom);
  forget(*whom);
  whom->alarm_ = time;
}

void alarms::forget(participant& whom) noexcept {
  if (whom.alarm_) due_.erase({*whom.alarm_, &whom});
  whom.alarm_.reset();
}

void alarms::ring(clock::time_point now, const std::function<void(participant&)>& told) noexcept {
  while (!due_.empty() && due_.begin()->first.first <= now) {
    auto alarm = due_.extract(due_.begin());
    const auto whom = alarm.mapped().lock();
    if (!whom) continue;
    whom->alarm_.reset();
    const auto next = woken(*whom, now);
    told(*whom);
    if (!next) continue;
    whom->alarm_ = next;
    alarm.key().first = *next;
    due_.insert(std::move(alarm));
  }
}

std::optional<clock::time_point> alarms::first() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first.first);
}

}  // namespace cogen::detail
