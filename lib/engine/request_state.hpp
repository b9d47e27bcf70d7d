#pragma once

#include "engine/admission.hpp"
#include "engine/metrics_recorder.hpp"

#include <cogen/async/pending_operations.hpp>
#include <cogen/clock.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/piece.hpp>
#include <cogen/scheduler/plan.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace cogen::detail {

class driver;

/// A sequence as the engine's thread sees it: the other end of a handle.
///
/// Its handle leaves word under its own lock and puts it into the driver's mailbox; the driver then calls
/// `attend()`. All virtual members here are called by the thread that drives the engine, one at a time.
class request_state : public row_sampler, public std::enable_shared_from_this<request_state> {
 public:
  explicit request_state(std::shared_ptr<driver> engine);
  ~request_state() override;

  /// Carries out what the handle has asked for since the last time.
  virtual void process() = 0;

  /// A row of this sequence has come to something.
  virtual void take(const scheduler::event& event, row_output& outcome) = 0;

  /// A transfer of what it has cached has ended, or its copy has.
  virtual void moved() {}

  /// What it goes on from came back less than exact. Perhaps told again.
  virtual void lose_exactness() noexcept {}

  /// The time asked for with `driver::wake_at()` has come. Returns when to come again; that is after `now`.
  virtual std::optional<clock::time_point> expire(clock::time_point now) = 0;

  /// The sequence is over: the engine has ended, or this sequence could not be served.
  virtual void fail(const diagnostics& why) noexcept = 0;

  /// True while the owner holds a result and is about to ask for more: the next step may wait for that.
  virtual bool owner_is_thinking() const = 0;

  /// Whether the scheduler, and the engine, know it under this name.
  bool goes_by(scheduler::sequence_id id) const noexcept { return id_ == id; }

  /// It has a slot: a row of it is in a plan.
  void scheduled();

  /// What the end of it is told with. Any thread.
  virtual finish_reason reason() const { return finish_reason::failed; }
  virtual cogen::usage usage() const { return {}; }
  virtual diagnostics error() const = 0;

  metrics_recorder& metrics() noexcept { return metrics_; }
  const metrics_recorder& metrics() const noexcept { return metrics_; }

  /// Takes it out of the batch, and tells its owner why.
  void end_with(const diagnostics& why);

  /// Posts what could not be posted before for want of memory.
  void post_again() noexcept;

 protected:
  /// Completes `operation`; where memory is short its handler is posted in a later round.
  template <class Operation, class... Results>
  void complete(std::shared_ptr<Operation> operation, error_code code, Results&&... results) noexcept {
    if (!operation->complete(code, std::forward<Results>(results)...)) post_later(std::move(operation));
  }

  // Its place with the engine, from any thread.

  /// A generation or an operation begins; says why where it may not.
  std::optional<diagnostics> begin_work() noexcept;
  void end_work() noexcept;
  void leave_place() noexcept;

  /// Takes it out of the batch, and gives its place back.
  void leave();

  /// Its first row begins after so many tokens.
  virtual void begin_after(int /*reused*/) noexcept {}

  const std::shared_ptr<driver> engine_;
  std::optional<scheduler::sequence_id> id_;  // the driving thread alone
  place place_;

 private:
  friend class timers;
  friend class mailbox;

  void post_later(std::shared_ptr<async::pending_operation> operation) noexcept;
  void keep_unposted(std::shared_ptr<async::pending_operation> operation) noexcept;
  bool post_unposted() noexcept;  // false: memory is still short
  void retry() noexcept;          // the engine has ended: there is no later round

  metrics_recorder metrics_;
  std::shared_ptr<request_state> next_;
  bool mailed_ = false;
  std::optional<clock::time_point> alarm_;  // the driving thread alone, as the next one
  bool scheduled_ = false;
  std::mutex unposted_mutex_;
  std::shared_ptr<async::pending_operation> unposted_;
};

}  // namespace cogen::detail
