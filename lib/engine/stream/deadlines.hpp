#pragma once

#include <cogen/clock.hpp>
#include <cogen/request.hpp>

#include <algorithm>
#include <optional>

namespace cogen::detail {

/// `begin + limit`; empty if that exceeds the clock's range, which means never.
inline std::optional<clock::time_point> later(clock::time_point begin, clock::duration limit) noexcept {
  if (limit > clock::time_point::max() - begin) return std::nullopt;
  return begin + limit;
}

/// The earlier of two points in time; empty means never.
inline std::optional<clock::time_point> earlier(std::optional<clock::time_point> a,
                                                std::optional<clock::time_point> b) noexcept {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

/// When a generation must have its first token, and when it ends with the tokens it has.
struct deadlines {
  enum class which { none, start, finish };

  std::optional<clock::time_point> start;
  std::optional<clock::time_point> finish;

  deadlines(const request& request, clock::time_point opened)
      : start(request.start_within ? later(opened, *request.start_within) : std::nullopt),
        finish(request.finish_within ? later(opened, *request.finish_within) : std::nullopt) {}

  bool any() const noexcept { return start || finish; }

  /// The next deadline. `begun`: there is a first token, so `start` no longer applies.
  std::optional<clock::time_point> next(bool begun) const noexcept { return begun ? finish : earlier(start, finish); }

  /// The deadline that has ended the generation by `now`: the earlier one, or `start` if both are equal.
  which passed(clock::time_point now, bool begun) const noexcept {
    const auto first = next(begun);
    if (!first || now < *first) return which::none;
    return !begun && start == first ? which::start : which::finish;
  }
};

}  // namespace cogen::detail
