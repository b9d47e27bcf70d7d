#pragma once

#include <cogen/clock.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace cogen::detail {

class loop_view;
class request_state;

/// Timers of request states, at most one for each: the earliest time that was set. When it expires, `expire()` returns
/// the next time. Timers do not keep their request states alive. The engine thread only.
class timers {
 public:
  /// Sets the timer of `request` to `time`, unless it already has an earlier one. Throws std::bad_alloc.
  void set(clock::time_point time, const std::shared_ptr<request_state>& request);

  void cancel(request_state& request) noexcept;

  /// Calls `expire()` of each request state whose time has come, and then `notify` with it, which must not throw.
  void expire(clock::time_point now, loop_view& loop, const std::function<void(request_state&)>& notify) noexcept;

  std::optional<clock::time_point> first() const;

  void clear() noexcept { due_.clear(); }

 private:
  std::map<std::pair<clock::time_point, const request_state*>, std::weak_ptr<request_state>> due_;
};

}  // namespace cogen::detail
