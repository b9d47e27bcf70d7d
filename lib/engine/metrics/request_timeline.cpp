#include "engine/metrics/request_timeline.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {

request_metrics request_timeline::times(clock::time_point now) const noexcept {
  const std::lock_guard lock(mutex_);
  auto metrics = times_;
  if (status_) spent_in(*status_, metrics) += now - since_;
  return metrics;
}

clock::duration request_timeline::end(clock::time_point now, ending outcome) noexcept {
  const std::lock_guard lock(mutex_);
  if (!times_.ended) {
    times_.ended = unreported_.ended = now;
    unreported_.outcome = outcome;
    unreported_.previous = status_;
    has_report_ = true;
    enter(std::nullopt, now);
  }
  return *times_.ended - times_.opened;
}

void request_timeline::accept(clock::time_point now, int tokens) noexcept {
  const std::lock_guard lock(mutex_);
  tokens_ = tokens;
  times_.accepted = now;
  enter(scheduler::status::waiting, now);
}

bool request_timeline::record(const scheduler::transition& change, clock::time_point now) noexcept {
  const std::lock_guard lock(mutex_);
  if (times_.ended) return false;
  slot_ = change.slot;
  if (change.current == scheduler::status::preempted) ++times_.preemptions;
  if (change.current == scheduler::status::running && !times_.scheduled) times_.scheduled = now;
  enter(change.current, now);
  return true;
}

bool request_timeline::record(const step_event& step, bool prefilled) noexcept {
  const std::lock_guard lock(mutex_);
  if (times_.ended) return false;
  ++times_.steps;
  times_.prefill_steps += prefilled;
  times_.computing += step.end - std::max(step.begin, step_end_);
  step_end_ = step.end;
  step_ = step.number;
  return true;
}

clock::duration request_timeline::record_result() noexcept {
  const std::lock_guard lock(mutex_);
  times_.last_token = step_end_;
  if (!times_.first_token) {
    times_.first_token = unreported_.first_token = step_end_;
    has_report_ = true;
  }
  return *times_.first_token - times_.opened;
}

void request_timeline::refuse(clock::time_point now) noexcept {
  const std::lock_guard lock(mutex_);
  unreported_.refused = now;
  has_report_ = true;
}

request_timeline::report request_timeline::take_report() noexcept {
  if (!has_report_.exchange(false)) return {};
  const std::lock_guard lock(mutex_);
  return std::exchange(unreported_, report());
}

clock::duration& request_timeline::spent_in(scheduler::status is, request_metrics& times) noexcept {
  switch (is) {
    case scheduler::status::waiting:
      return times.waiting;
    case scheduler::status::running:
      return times.running;
    case scheduler::status::preempted:
      return times.preempted;
  }
  return times.waiting;
}

void request_timeline::enter(std::optional<scheduler::status> next, clock::time_point now) noexcept {
  if (status_) spent_in(*status_, times_) += now - since_;
  status_ = next;
  since_ = now;
}

}  // namespace cogen::detail
