#pragma once

#include "engine/request_state.hpp"
#include "engine/step_in_flight.hpp"

#include <cogen/engine_options.hpp>
#include <cogen/scheduler/scheduler.hpp>

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace cogen::detail {

using member_map = std::unordered_map<scheduler::sequence_id, std::shared_ptr<request_state>>;

/// Listens to the scheduler's transitions, to steps, and to what requests report. Each event goes to the request's
/// timeline, to the engine's statistics, and to the event sink; what was read of its prompt, to the request. The engine
/// thread only. Does not allocate.
class engine_metrics {
 public:
  using log = std::function<void(std::string_view message, const std::exception_ptr& why)>;

  /// `plans` and `members` belong to the loop and must outlive this object. If the sink throws, its exception goes to
  /// `log`, and the sink is released.
  engine_metrics(scheduler::scheduler& plans, const member_map& members, int slots, std::shared_ptr<event_sink> sink,
                 log log)
      : plans_(plans), members_(members), slots_(slots), sink_(std::move(sink)), log_(std::move(log)) {}

  /// The scheduler has accepted the request's sequence, under this id.
  void accepted(request_state& request, scheduler::sequence_id id, clock::time_point now) noexcept;

  /// Takes the scheduler's transitions.
  void take_transitions(clock::time_point now) noexcept;

  /// Takes what the request has reported: that it was refused, had its first token, has ended.
  void take_report(request_state& request) noexcept;

  /// `step` has been planned and is about to be launched.
  void planned(step_in_flight& step, clock::time_point now) noexcept;

  /// `step` has been executed without an error; its results have not been absorbed yet.
  void executed(step_in_flight& step, clock::time_point now) noexcept;

  /// A swap has ended, or failed with `error`.
  void swapped(const scheduler::swap_end& swap, const std::exception_ptr& error, clock::time_point now) noexcept;

  /// The engine has ended, and all requests with it.
  void ended(const diagnostics& why, clock::time_point now) noexcept;

  engine_stats stats() noexcept;

 private:
  using kind = sequence_event::kind;

  request_state* find(scheduler::sequence_id id) const noexcept;
  void count(const scheduler::transition& change, const request_timeline& timeline) noexcept;
  void count_end(const request_timeline::report& report, const request_state& request) noexcept;
  void count(const step_event& step) noexcept;
  void notify(kind type, scheduler::sequence_id id, clock::time_point time, int tokens,
              const diagnostics& why = {}) noexcept;
  void notify(kind type, const request_state& request, clock::time_point time, int tokens = 0,
              const diagnostics& why = {}) noexcept;
  template <class Call>
  void notify_sink(Call call) noexcept;

  scheduler::scheduler& plans_;
  const member_map& members_;
  const int slots_;
  std::shared_ptr<event_sink> sink_;
  const log log_;
  engine_stats stats_;
  int preempted_ = 0;  // requests that are preempted now
};

}  // namespace cogen::detail
