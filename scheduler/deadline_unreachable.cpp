#include <cogen/scheduler/deadline_unreachable.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace cogen::scheduler {
namespace {

using seconds = std::chrono::duration<double>;
using milliseconds = std::chrono::duration<double, std::milli>;

std::string message(seconds left, double tokens, deadline_unreachable::pace_type pace) {
  char text[200];
  std::snprintf(
      text, sizeof text,
      "the deadline %s %.3f s%s; at %.3f ms a token, the run and what is ahead of it, %.0f tokens, take %.3f s",
      left.count() < 0 ? "was" : "is in", std::abs(left.count()), left.count() < 0 ? " ago" : "",
      milliseconds(pace).count(), tokens, seconds(tokens * pace).count());
  return text;
}

/// Saturates at the last point in time.
time later(time now, deadline_unreachable::pace_type delay) {
  const double most = static_cast<double>(time::max().count()) - static_cast<double>(now.count());
  return delay.count() < most ? now + time(std::llround(delay.count())) : time::max();
}

}  // namespace

deadline_unreachable::deadline_unreachable(time now, time deadline, double tokens, pace_type pace)
    : runtime_error(message(seconds(deadline) - seconds(now), tokens, pace)),
      deadline_(deadline),
      estimate_(later(now, tokens * pace)),
      pace_(pace) {}

}  // namespace cogen::scheduler
