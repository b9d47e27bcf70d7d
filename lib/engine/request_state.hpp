#pragma once

#include "engine/admission.hpp"
#include "engine/async/forkable_mutex.hpp"
#include "engine/metrics/request_timeline.hpp"
#include "engine/stream/constraint.hpp"

#include <cogen/clock.hpp>
#include <cogen/detail/operation.hpp>
#include <cogen/detail/scheduler/step.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/metrics.hpp>
#include <cogen/scheduler/cache_salt.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace cogen::detail {

class engine_loop;
class loop_view;
class sampling_state;

/// The state of a request or sequence, shared by its handle and the engine.
///
/// The handle records an operation under a lock and enqueues the state; the engine's loop then calls `process()`.
/// Unless noted, virtual members are called on the engine thread, one at a time; those that act on the engine get a
/// view of its loop.
class request_state : public std::enable_shared_from_this<request_state> {
 public:
  explicit request_state(std::shared_ptr<engine_loop> engine);
  virtual ~request_state();

  /// Carries out the operations that the handle has recorded since the last call.
  virtual void process(loop_view& loop) = 0;

  /// The sampler of its rows; null if it never has rows. Any thread.
  virtual sampling_state* sampling() noexcept { return nullptr; }

  /// Delivers an event of the sequence, with the output of the row that caused it.
  virtual void deliver(const scheduler::event& event, row_output& output, loop_view& loop) = 0;

  /// A swap or a copy of its KV cache has ended.
  virtual void swap_ended(loop_view& /*loop*/) {}

  /// Its KV cache was restored from an inexact snapshot. May be called more than once.
  virtual void mark_inexact() noexcept {}

  /// The timer set by `loop_view::wake_at()` has expired. Returns the next time, after `now`, if there is one.
  virtual std::optional<clock::time_point> expire(clock::time_point now, loop_view& loop) = 0;

  /// Ends the request with an error: the engine has ended, or the request could not be served. Any thread.
  virtual void fail(const diagnostics& why) noexcept = 0;

  /// A step that has ended at `time` ran the first `tokens` of its sequence, or the last ones of those, as a prompt.
  virtual void prefilled(int /*tokens*/, clock::time_point /*time*/) noexcept {}

  /// True while the client has a result and may be about to ask for more: the next step may wait for it.
  virtual bool awaits_client() const = 0;

  /// Whether the loop has it under this id: it has joined, and not left since. The engine thread only.
  bool is_registered_as(scheduler::sequence_id id) const noexcept { return id_ == id; }

  /// Whether nobody waits for what its row samples; once it is so, until process(). Any thread.
  virtual bool is_unwanted() const noexcept { return false; }

  // Where its row is late. Until its outcome is taken, its sampler belongs to the thread that samples it.

  /// This one is. Samples it beside the steps; process() is called when that is done. Throws std::bad_alloc.
  void begin_late(scheduler::late_sample sample, row_output output);

  /// What it has sampled in the end, with its outcome. Nothing: it is not known yet, or there was no such row.
  std::optional<std::pair<scheduler::late_sample, row_output>> take_late() noexcept;

  /// Its first row has been planned, and so many of its tokens were found in the prefix cache.
  void schedule(int prefix_hit_tokens) noexcept;

  // Its outcome, as the event of its end reports it. Any thread.
  virtual finish_reason reason() const { return finish_reason::failed; }
  virtual cogen::usage usage() const { return {}; }
  virtual diagnostics error() const = 0;

  request_timeline& timeline() noexcept { return timeline_; }
  const request_timeline& timeline() const noexcept { return timeline_; }

  /// Removes it from the batch, and fails it with `why`.
  void end_with(const diagnostics& why, loop_view& loop);

  /// Posts the handlers that could not be posted before because memory was short.
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
    std::unique_lock<forkable_mutex> lock_;
  };

  /// Completes `operation`, if it is not, under a completion_lock. settle() sets its result. If memory is short, its
  /// handler is posted in a later round.
  void complete(std::shared_ptr<pending_operation> operation) noexcept {
    if (!operation->complete()) keep(std::move(operation));
  }

  /// The same with a result, which replaces that of a completed operation.
  template <class Operation, class... Results>
  void complete(std::shared_ptr<Operation> operation, diagnostics why, Results&&... results) noexcept {
    operation->set_result(std::move(why), std::forward<Results>(results)...);
    complete(std::move(operation));
  }

  /// Completes `operation` with `why` and gives it up, if it waits. One that is completed keeps its result.
  template <class Operation, class... Results>
  void fail_wait(std::shared_ptr<Operation>& operation, const diagnostics& why, Results&&... results) noexcept {
    if (operation && !operation->completed())
      complete(std::exchange(operation, nullptr), why, std::forward<Results>(results)...);
  }

  /// Has a completed operation posted when the lock is released. Under a completion_lock.
  void keep(std::shared_ptr<pending_operation> completed) noexcept;

  // Admission. Any thread.

  /// Begins a generation or an operation, and those of `peers`, which count alike. If it is refused, returns the
  /// reason. Work that is `accepted` belongs to a generation that has begun.
  std::optional<diagnostics> begin_work(std::span<admission_state* const> peers = {}, bool accepted = false) noexcept;
  void end_work() noexcept;
  virtual void leave_engine() noexcept;

  /// Removes it from the batch and from the engine's counts.
  virtual void leave(loop_view& loop);

  /// True while what a prompt begins with is restored from the engine's directory. Only the first call begins that.
  bool awaits_stored_prefix(std::span<const token> prompt, const scheduler::cache_salt& salt, loop_view& loop);

  /// What a guide constrains from now on, after the first `begin` tokens.
  constrained_text text_after(std::size_t begin) const;

  virtual void set_cached_tokens(int /*prefix_hit_tokens*/) noexcept {}

  bool awaits_late() const noexcept { return late_.has_value(); }

  const std::shared_ptr<engine_loop> engine_;
  std::optional<scheduler::sequence_id> id_;  // the engine thread only
  admission_state admission_;
  mutable forkable_mutex mutex_;  // guards what the handle and the engine share

 private:
  friend class timers;
  friend class inbox;

  void post(std::shared_ptr<pending_operation> completed) noexcept;
  bool post_all(std::shared_ptr<pending_operation> completed) noexcept;  // false: memory is short for some
  void retry() noexcept;

  void sample_late() noexcept;

  request_timeline timeline_;
  std::optional<scheduler::late_sample> late_;  // the engine thread only
  std::atomic<bool> late_is_over_ = false;
  std::shared_ptr<request_state> next_;
  bool enqueued_ = false;
  bool has_looked_up_ = false;                    // whether a prefix is stored; the engine thread only
  std::optional<clock::time_point> timer_;        // the engine thread only
  std::shared_ptr<pending_operation> completed_;  // under the lock: their handlers are not posted yet
};

}  // namespace cogen::detail
