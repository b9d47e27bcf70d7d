#include "metrics/metrics_recorder.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {

request_metrics metrics_recorder::times(clock::time_point now) const noexcept {
  std::lock_guard lock(mutex_);
  auto metrics = times_;
  if (auto* spent = spent_in(where_, metrics)) *spent += now - since_;
  return metrics;
}

clock::duration metrics_recorder::end(clock::time_point now, ending how) noexcept {
  std::lock_guard lock(mutex_);
  if (where_ != place::over) {
    before_ = where_;
    how_ = how;
    times_.ended = now;
    has_news_ = true;
    enter(place::over, now);
  }
  return *times_.ended - times_.opened;
}

void metrics_recorder::accept(clock::time_point now, int tokens) noexcept {
  std::lock_guard lock(mutex_);
  tokens_ = tokens;
  times_.accepted = now;
  enter(place::waiting, now);
}

std::optional<metrics_recorder::place> metrics_recorder::schedule(int slot, clock::time_point now) noexcept {
  if (where_ == place::running && slot == slot_) return std::nullopt;
  std::lock_guard lock(mutex_);
  const place before = where_;
  if (before == place::over) return std::nullopt;
  slot_ = slot;
  if (before == place::running) return before;
  if (!times_.scheduled) times_.scheduled = now;
  enter(place::running, now);
  return before;
}

bool metrics_recorder::preempt(clock::time_point now) noexcept {
  std::lock_guard lock(mutex_);
  if (where_ != place::running) return false;
  ++times_.preemptions;
  enter(place::preempted, now);
  return true;
}

bool metrics_recorder::serve(const served& by) noexcept {
  std::lock_guard lock(mutex_);
  if (where_ == place::over) return false;
  ++times_.steps;
  times_.prefill_steps += by.prefilled;
  times_.computing += by.end - std::max(by.begin, served_until_);
  served_until_ = by.end;
  prefilling_ = !by.fed_all;
  step_ = by.step;
  return true;
}

clock::duration metrics_recorder::bring() noexcept {
  std::lock_guard lock(mutex_);
  times_.last_token = served_until_;
  if (!times_.first_token) {
    times_.first_token = served_until_;
    has_news_ = true;
  }
  return *times_.first_token - times_.opened;
}

metrics_recorder::news metrics_recorder::untold() noexcept {
  if (!has_news_) return {};
  std::lock_guard lock(mutex_);
  has_news_ = false;
  news metrics{.refused = std::exchange(refused_, std::nullopt), .how = how_, .before = before_};
  if (!std::exchange(told_first_, times_.first_token.has_value())) metrics.brought = times_.first_token;
  if (!std::exchange(told_end_, times_.ended.has_value())) metrics.ended = times_.ended;
  return metrics;
}

clock::duration* metrics_recorder::spent_in(place where, request_metrics& times) noexcept {
  switch (where) {
    case place::waiting:
      return &times.waiting;
    case place::running:
      return &times.running;
    case place::preempted:
      return &times.preempted;
    case place::outside:
    case place::over:
      return nullptr;
  }
  return nullptr;
}

void metrics_recorder::enter(place where, clock::time_point now) noexcept {
  if (auto* spent = spent_in(where_, times_)) *spent += now - since_;
  where_ = where;
  since_ = now;
}

}  // namespace cogen::detail
