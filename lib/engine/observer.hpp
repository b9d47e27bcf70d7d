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

/// Listens to the engine's loop and the scheduler: keeps the requests' metrics and the engine's counts, and tells the
/// event sink. The driving thread alone. It allocates when it is made only.
class observer {
 public:
  using log = std::function<void(std::string_view what, const std::exception_ptr& why)>;

  /// `plans` and `members` are the loop's. `log` gets what the sink throws.
  observer(scheduler::scheduler& plans, const member_map& members, int slots, std::shared_ptr<event_sink> sink, log log)
      : plans_(plans), members_(members), slots_(slots), sink_(std::move(sink)), log_(std::move(log)) {
    moving_.reserve(static_cast<std::size_t>(slots));
  }

  /// The scheduler has accepted it under this id.
  void joined(request_state& seq, scheduler::sequence_id id, clock::time_point now) noexcept;

  /// Reports what is new of it: refused, its first token, its end.
  void look_at(request_state& seq) noexcept;

  /// Reports what the scheduler's slot changes mean: scheduled, preempted, resumed.
  void look_at_slots(clock::time_point now) noexcept;

  /// `step` was planned.
  void launched(step_in_flight& step, clock::time_point now) noexcept;

  /// A transfer of a plan has ended.
  void transferred(scheduler::swap_id name, const std::exception_ptr& error, clock::time_point now) noexcept;

  /// `step` has ended without an error; its results are not delivered yet.
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
  void count(const scheduler::plan& plan, std::int64_t bytes) noexcept;
  std::int64_t cache_bytes() const noexcept;
  void transfer(const scheduler::plan& plan, clock::time_point now) noexcept;
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
  std::vector<moving> moving_;  // at most one for each slot
  int preempted_ = 0;           // now
};

}  // namespace cogen::detail
