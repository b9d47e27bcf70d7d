#pragma once

#include "engine/admission.hpp"
#include "metrics/metrics_recorder.hpp"

#include <cogen/async/pending_operations.hpp>
#include <cogen/clock.hpp>
#include <cogen/piece.hpp>
#include <cogen/runner.hpp>
#include <cogen/scheduler/plan.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace cogen::detail {

class engine_loop;

/// A sequence as the engine's thread sees it: the other end of a handle.
///
/// Its handle stores what it asks for under its own lock and enqueues the request; the engine's loop then calls
/// `process()`. All virtual members here are called by the thread that drives the engine, one at a time.
class request_state : public std::enable_shared_from_this<request_state> {
 public:
  explicit request_state(std::shared_ptr<engine_loop> engine);
  virtual ~request_state();

  /// Carries out what the handle has asked for since the last time.
  virtual void process() = 0;

  /// How its rows sample. Null where it never has rows.
  virtual row_sampler* as_sampler() noexcept { return nullptr; }

  /// A row of this sequence has come to something.
  virtual void take(const scheduler::event& event, row_output& outcome) = 0;

  /// A transfer of what it has cached has ended, or its copy has.
  virtual void moved() {}

  /// What it goes on from came back less than exact. Perhaps told again.
  virtual void lose_exactness() noexcept {}

  /// The time set by `engine_loop::wake_at()` has come. Returns the next time, after `now`, if there is one.
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
  /// Locks `mutex_`. Handlers of operations completed meanwhile are posted once it is unlocked.
  class completion_lock {
   public:
    explicit completion_lock(request_state& state) : state_(state), lock_(state.mutex_) {}
    completion_lock(const completion_lock&) = delete;
    completion_lock& operator=(const completion_lock&) = delete;
    ~completion_lock() {
      if (lock_) unlock();
    }

    void unlock() noexcept {
      auto completed = std::exchange(state_.completed_, nullptr);
      lock_.unlock();
      if (completed) state_.post(std::move(completed));
    }

   private:
    request_state& state_;
    std::unique_lock<std::mutex> lock_;
  };

  /// Completes `operation`, under a completion_lock. Where memory is short its handler is posted in a later round.
  template <class Operation, class... Results>
  void complete(std::shared_ptr<Operation> operation, error_code code, Results&&... results) noexcept {
    operation->set_result(code, std::forward<Results>(results)...);
    keep(std::move(operation));
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

  const std::shared_ptr<engine_loop> engine_;
  std::optional<scheduler::sequence_id> id_;  // the driving thread alone
  place place_;
  mutable std::mutex mutex_;  // guards what the handle and the engine share

 private:
  friend class timers;
  friend class inbox;

  void keep(std::shared_ptr<async::pending_operation> completed) noexcept;  // under the lock
  void post(std::shared_ptr<async::pending_operation> completed) noexcept;
  bool post_all(std::shared_ptr<async::pending_operation> completed) noexcept;  // false: memory is short for some
  void retry() noexcept;

  metrics_recorder metrics_;
  std::shared_ptr<request_state> next_;
  bool enqueued_ = false;
  std::optional<clock::time_point> timer_;  // the driving thread alone, as the next one
  bool scheduled_ = false;
  std::shared_ptr<async::pending_operation> completed_;  // under the lock: their handlers are not posted yet
};

}  // namespace cogen::detail
