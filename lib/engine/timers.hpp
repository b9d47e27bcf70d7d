#pragma once

#include <cogen/clock.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace cogen::detail {

class request_state;

/// Who is woken when. A request state has one timer, the earliest it has asked for, and is asked for the next one when
/// it is woken; one that has gone is woken no more. The driving thread alone.
class timers {
 public:
  /// `whom` is woken at `time`, unless it is woken before that anyway. Throws std::bad_alloc.
  void set(clock::time_point time, const std::shared_ptr<request_state>& seq);

  void forget(request_state& seq) noexcept;

  /// Wakes all whose time has come, and calls `told` with each of them, which does not throw.
  void fire(clock::time_point now, const std::function<void(request_state&)>& notify) noexcept;

  std::optional<clock::time_point> first() const;

  void clear() noexcept { due_.clear(); }

 private:
  std::map<std::pair<clock::time_point, const request_state*>, std::weak_ptr<request_state>> due_;
};

}  // namespace cogen::detail
