#pragma once

#include <cogen/clock.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/scheduler/scheduler.hpp>

#include <memory>

namespace cogen::detail {

class engine_loop;
class request_state;
class background_work;
class stored_prefixes;

/// What the state of a request may use while the engine's loop calls one of its members. The engine thread only.
class loop_view {
 public:
  explicit loop_view(engine_loop& loop) noexcept : loop_(loop) {}
  loop_view(const loop_view&) = delete;
  loop_view& operator=(const loop_view&) = delete;

  clock::time_point now() const noexcept;
  cogen::scheduler::scheduler& scheduler() noexcept;
  cogen::runner& runner() noexcept;
  stored_prefixes* prefixes() noexcept;  ///< null: there is no directory for them
  std::shared_ptr<background_work>& background() noexcept;

  /// Events of the sequence are delivered to `member` from now on. Throws std::bad_alloc.
  void join(cogen::scheduler::sequence_id id, std::shared_ptr<request_state> member);
  void leave(cogen::scheduler::sequence_id id) noexcept;

  /// Calls the state's expire() at this time, unless an earlier one is set. Throws std::bad_alloc.
  void wake_at(clock::time_point time, const std::shared_ptr<request_state>& state);
  void cancel_timer(request_state& state) noexcept;

 private:
  engine_loop& loop_;
};

}  // namespace cogen::detail
