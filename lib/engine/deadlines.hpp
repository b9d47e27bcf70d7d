#pragma once

#include <cogen/clock.hpp>
#include <cogen/request.hpp>

#include <algorithm>
#include <optional>

namespace cogen::detail {

/// Empty where the clock does not reach that far: then it never comes.
inline std::optional<clock::time_point> later(clock::time_point from, clock::duration by) noexcept {
  if (by > clock::time_point::max() - from) return std::nullopt;
  return from + by;
}

/// The earlier of two points in time, of which either may never come.
inline std::optional<clock::time_point> earlier(std::optional<clock::time_point> a,
                                                std::optional<clock::time_point> b) noexcept {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

/// By when a generation has to have begun, and when it ends with whatever it has.
struct deadlines {
  enum class which { none, start, finish };

  std::optional<clock::time_point> start;
  std::optional<clock::time_point> finish;

  deadlines(const request& what, clock::time_point opened)
      : start(what.start_within ? later(opened, *what.start_within) : std::nullopt),
        finish(what.finish_within ? later(opened, *what.finish_within) : std::nullopt) {}

  bool any() const noexcept { return start || finish; }

  /// The next to come. `begun`: a token has come, and `start` counts no more.
  std::optional<clock::time_point> next(bool begun) const noexcept { return begun ? finish : earlier(start, finish); }

  /// Which of them has ended the generation by now: the one that came first, `start` where both came at once.
  which passed(clock::time_point now, bool begun) const noexcept {
    const auto first = next(begun);
    if (!first || now < *first) return which::none;
    return !begun && start == first ? which::start : which::finish;
  }
};

}  // namespace cogen::detail
