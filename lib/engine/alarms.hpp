#pragma once

#include <cogen/clock.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace cogen::detail {

class participant;

/// Who is woken when. A participant has one alarm, the earliest it has asked for, and is asked for the next one when it
/// is woken; a participant that has gone is woken no more. The driving thread alone.
class alarms {
 public:
  /// `whom` is woken at `time`, unless it is woken before that anyway. Throws std::bad_alloc.
  void set(clock::time_point time, const std::shared_ptr<participant>& whom);

  void forget(participant& whom) noexcept;

  /// Wakes all whose time has come, and calls `told` with each of them, which does not throw.
  void ring(clock::time_point now, const std::function<void(participant&)>& told) noexcept;

  std::optional<clock::time_point> first() const;

  void clear() noexcept { due_.clear(); }

 private:
  std::map<std::pair<clock::time_point, const participant*>, std::weak_ptr<participant>> due_;
};

}  // namespace cogen::detail
