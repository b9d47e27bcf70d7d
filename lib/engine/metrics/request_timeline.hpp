#pragma once

#include <cogen/detail/scheduler/step.hpp>
#include <cogen/metrics.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace cogen::detail {

/// Records the metrics of one request from the scheduler's transitions and the request's own results, and keeps what
/// has not been reported to the event sink yet.
class request_timeline {
 public:
  enum class ending : std::uint8_t { finished, cancelled };

  request_timeline(std::uint64_t id, clock::time_point opened) : id_(id), since_(opened) { times_.opened = opened; }

  std::uint64_t id() const noexcept { return id_; }

  // Any thread.

  /// The metrics up to `now`, or up to its end if that is earlier.
  request_metrics times(clock::time_point now) const noexcept;

  /// Records its end; only the first call has an effect. Returns the time from opening to end.
  clock::duration end(clock::time_point now, ending outcome) noexcept;

  // The engine thread only.

  /// Records that the scheduler has accepted it, with so many tokens.
  void accept(clock::time_point now, int tokens) noexcept;

  /// Records a transition. False after its end: then nothing is recorded.
  bool record(const scheduler::transition& change, clock::time_point now) noexcept;

  /// Records a step with a row of it. False after its end: then nothing is recorded.
  bool record(const step_event& step, bool prefilled) noexcept;

  /// Sets when its next result came, if that was in a step of others.
  void set_result_time(clock::time_point time) noexcept { step_end_ = time; }

  /// Records that its last step had a result for it: a token, or logits. Returns the time from opening to the first.
  clock::duration record_result() noexcept;

  /// Records that an operation of it was refused before the scheduler accepted it.
  void refuse(clock::time_point now) noexcept;

  int slot() const noexcept { return slot_; }
  int tokens() const noexcept { return tokens_; }  ///< when it was accepted
  std::uint64_t step() const noexcept { return step_; }

  struct report {
    std::optional<clock::time_point> refused;
    std::optional<clock::time_point> first_token;  ///< or result
    std::optional<clock::time_point> ended;
    ending outcome = ending::finished;
    std::optional<scheduler::status> previous;  ///< its state before its end; none: it was not accepted
  };

  /// What has happened since the last call.
  report take_report() noexcept;

 private:
  static clock::duration& spent_in(scheduler::status is, request_metrics& times) noexcept;
  void enter(std::optional<scheduler::status> next, clock::time_point now) noexcept;

  const std::uint64_t id_;
  int slot_ = -1;
  int tokens_ = 0;
  std::uint64_t step_ = 0;
  clock::time_point step_end_{};

  std::atomic<bool> has_report_ = false;

  mutable std::mutex mutex_;  // guards those below
  request_metrics times_;
  std::optional<scheduler::status> status_;  // none: not accepted, or ended
  clock::time_point since_;                  // it has that status
  report unreported_;
};

}  // namespace cogen::detail
