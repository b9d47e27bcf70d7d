#pragma once

#include "engine/step_in_flight.hpp"

#include <cogen/engine_options.hpp>
#include <cogen/scheduler/scheduler.hpp>

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace cogen::detail {

using member_map = std::unordered_map<scheduler::sequence_id, std::shared_ptr<request_state>>;

/// Observes the engine's loop and the scheduler: updates the requests' metrics and the engine's statistics, and reports
/// events to the sink. The engine thread only. Allocates only in its constructor.
class observer {
 public:
  using log = std::function<void(std::string_view what, const std::exception_ptr& why)>;

  /// `plans` and `members` belong to the loop and must outlive this object. If the sink throws, its exception goes to
  /// `log`, and the sink is released.
  observer(scheduler::scheduler& plans, const member_map& members, int slots, std::shared_ptr<event_sink> sink, log log)
      : plans_(plans), members_(members), slots_(slots), sink_(std::move(sink)), log_(std::move(log)) {
    moving_.reserve(static_cast<std::size_t>(slots));
  }

  /// Reports that the scheduler has accepted the sequence, under this id.
  void joined(request_state& seq, scheduler::sequence_id id, clock::time_point now) noexcept;

  /// Reports its new events: refused, first token, end.
  void look_at(request_state& seq) noexcept;

  /// Reports the scheduler's slot changes: scheduled, preempted, resumed.
  void look_at_slots(clock::time_point now) noexcept;

  /// `step` has been planned and is about to be launched.
  void launched(step_in_flight& step, clock::time_point now) noexcept;

  /// A swap of a plan has completed, or failed with `error`.
  void transferred(scheduler::swap_id name, const std::exception_ptr& error, clock::time_point now) noexcept;

  /// `step` has ended without an error; its results have not been delivered yet.
  void ended(step_in_flight& step, clock::time_point now) noexcept;

  /// The engine has ended, and all requests with it.
  void ended(const diagnostics& why, clock::time_point now) noexcept;

  engine_stats stats() noexcept;

 private:
  using kind = sequence_event::kind;

  struct moving {
    scheduler::swap_id name;
    scheduler::sequence_id seq;
    kind what;
    int tokens;
  };

  void schedule(request_state& seq, int slot, clock::time_point now) noexcept;
  void preempt(request_state& seq, clock::time_point now) noexcept;
  void serve(request_state& seq, const scheduler::row& row, const step_event& step) noexcept;
  void end(request_state& seq, const metrics_recorder::news& how) noexcept;
  void count(const scheduler::step& plan, std::int64_t bytes) noexcept;
  std::int64_t cache_bytes() const noexcept;
  void transfer(const scheduler::step& plan, clock::time_point now) noexcept;
  void begin(kind what, scheduler::swap_id name, scheduler::sequence_id seq, int tokens,
             clock::time_point now) noexcept;
  void tell(kind what, const request_state& seq, clock::time_point at, int tokens = 0,
            const diagnostics& why = {}) noexcept;
  template <class Call>
  void tell_sink(Call call) noexcept;

  scheduler::scheduler& plans_;
  const member_map& members_;
  const int slots_;
  std::shared_ptr<event_sink> sink_;
  const log log_;
  engine_stats stats_;
  std::vector<moving> moving_;  // swaps in progress, at most one for each slot
  int preempted_ = 0;           // requests that are preempted now
};

}  // namespace cogen::detail
