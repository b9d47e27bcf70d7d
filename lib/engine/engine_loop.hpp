#pragma once

#include "answers/grammar/compiler.hpp"
#include "answers/grammar/model_responses.hpp"
#include "engine/admission.hpp"
#include "engine/async/background_work.hpp"
#include "engine/async/forkable_mutex.hpp"
#include "engine/compile_queue.hpp"
#include "engine/engine_metrics.hpp"
#include "engine/guide_allowance.hpp"
#include "engine/inbox.hpp"
#include "engine/loop_view.hpp"
#include "engine/metrics/kv_block_events.hpp"
#include "engine/swap_completions.hpp"
#include "engine/tenant_queue.hpp"
#include "engine/timers.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <atomic>
#include <list>
#include <unordered_map>

namespace cogen::detail {

class stored_prefixes;

/// The engine's loop: drain the inbox, plan a step, execute it, absorb its results, deliver them. Handles share
/// ownership of it, so it lives as long as any of them.
class engine_loop {
 public:
  /// At once, so that threads are left for other prompts, and the processor for steps.
  static constexpr int max_huge_prompts = 2, max_late_samples = 1;

  engine_loop(engine_parts parts, engine_options options);
  ~engine_loop();

  // Any thread.

  /// Whether this process is a child of the one that made the engine, whose threads do not exist here. It has then
  /// ended, as error() says, and must not be destroyed.
  bool is_forked() const noexcept;

  /// Prevents its destruction, which would wait for threads of the parent.
  void keep(std::shared_ptr<engine_loop> self) noexcept { self_ = std::move(self); }

  /// Enqueues the request for `process()`. It never blocks. False once the engine has ended: then it is not enqueued.
  bool enqueue(std::shared_ptr<request_state> request) noexcept;
  void request_stop() noexcept;
  void drop_prefix_cache() noexcept;  ///< before the next step
  /// For handlers without an executor of their own: the engine's executor, or the system's once the engine has ended.
  net::any_io_executor default_executor() const;
  engine_executor executor() const { return engine_executor(queue_); }
  clock::time_point now() const noexcept { return parts_.clock->now(); }
  const engine_parts& parts() const noexcept { return parts_; }
  const engine_options& options() const noexcept { return options_; }
  int vocabulary() const noexcept { return vocabulary_; }
  const std::string& snapshot_format() const noexcept { return snapshot_format_; }
  const runner::finite_check& check_of_numbers() const noexcept { return check_of_numbers_; }  // perhaps empty
  grammar::compiler& formats() noexcept { return formats_; }
  compile_queue& compilations() noexcept { return *compilations_; }
  tenant_queue& huge_prompts() noexcept { return huge_prompts_; }
  tenant_queue& late_samples() noexcept { return late_samples_; }
  guide_allowance& allowance() noexcept { return allowance_; }  // of the rows of a step
  const grammar::model_responses& responses() const noexcept { return responses_; }
  diagnostics error() const noexcept;
  engine_stats stats() const;

  /// A seed for a request that names none: differs from engine to engine and request to request.
  std::uint64_t fresh_seed() noexcept { return seed_.fetch_add(0x9e3779b97f4a7c15); }

  /// Counts and limits the sequences that the engine holds.
  admission& admissions() noexcept { return admission_; }

  /// Enqueues `waiter` when the last work under way ends after admissions().drain(). Calls its `fail()` if the engine
  /// ends first. Throws std::bad_alloc.
  void wait_until_idle(std::shared_ptr<request_state> waiter);
  void cancel_wait(const request_state& waiter) noexcept;
  std::uint64_t fresh_id() noexcept { return ++ids_; }

  /// Runs `job` on another thread, so that neither the caller nor a step waits for it. With external stepping, runs it
  /// immediately on the caller's thread.
  void offload(std::function<void()> job);

  /// Runs `job` on the engine thread, between steps. Not after the engine has ended.
  void post_to_engine_thread(std::function<void()> job) noexcept {
    swap_completions_.post_to_engine_thread(std::move(job));
  }

  // The engine thread only: the engine's own, or with external stepping the one that calls poll_one().

  /// Starts the runner; only the first call has an effect. Throws what the runner throws.
  void start();

  /// One round of the loop: at most one launch and one delivery. True when a step was delivered, or work done beside.
  bool poll_one();

  /// Runs rounds until request_stop(), and sleeps while there is nothing to do; then calls `end()`.
  void run() noexcept;

  /// Ends the engine and fails all requests with error(). Only the first call has an effect.
  void end() noexcept;

  void log(std::string_view message, std::string_view why) noexcept;

  /// For what is called without one: the handlers of strategies.
  loop_view& view() noexcept { return view_; }

 private:
  friend class loop_view;

  void run_handlers();
  void drain_inbox() noexcept;
  void complete_swaps();
  void complete_swap(const swap_completions::completion& swap);

  /// Calls `call`; an exception ends the member's request. The caller keeps the member alive.
  template <class Call>
  void attempt(request_state& member, const Call& call);

  void expire_timers();
  void wait_for_batch();
  bool run_step() noexcept;
  void launch_steps();
  step_in_flight* plan();
  step_in_flight& unused_step();
  void execute(step_in_flight& step);
  void finish_step();
  void trim_when_idle();
  std::list<step_in_flight> take_executed();
  void absorb(step_in_flight& step);
  void take_outputs(step_in_flight& step);
  void follow(step_in_flight& step, std::size_t row, sampling_state& sampling);
  void deliver(step_in_flight& step);
  void absorb_late(request_state& request);
  void recycle(std::list<step_in_flight> done);

  /// The time from the step's launch, or from the end of the previous step if that is later, to `end`.
  std::chrono::nanoseconds time_of(const step_in_flight& step, clock::time_point end);
  void fail(const std::exception_ptr& why) noexcept;
  void log(std::string_view message, const std::exception_ptr& why) noexcept;
  void sleep(std::optional<clock::duration> limit);
  void wake() noexcept;
  bool awaiting_client();
  std::shared_ptr<request_state> member(scheduler::sequence_id id) const;  // null: it has left
  void publish();
  void notify_idle() noexcept;
  void save_prefixes() noexcept;
  template <class Waits>
  void wait_while(const Waits& waits);

  const unsigned process_ = process_generation();  // that made it
  engine_parts parts_;
  engine_options options_;
  const int vocabulary_;
  const std::string snapshot_format_;
  const runner::finite_check check_of_numbers_;
  grammar::compiler formats_;
  const std::shared_ptr<compile_queue> compilations_;
  tenant_queue huge_prompts_{max_huge_prompts, [this](tenant_queue::job job) { offload(std::move(job)); }};
  tenant_queue late_samples_{max_late_samples, [this](tenant_queue::job job) { offload(std::move(job)); }};
  guide_allowance allowance_;
  const grammar::model_responses responses_;
  const std::shared_ptr<engine_queue> queue_ = std::make_shared<engine_queue>();
  scheduler::scheduler scheduler_;
  member_map members_;
  const engine_metrics::log log_ = [this](std::string_view message, const std::exception_ptr& why) {
    log(message, why);
  };
  engine_metrics metrics_;
  kv_block_events kv_events_;
  const std::function<void()> wake_ = [this] { wake(); };
  loop_view view_{*this};
  std::list<step_in_flight> in_flight_;
  std::list<step_in_flight> recycled_;        // for the next steps, which reuse their memory
  clock::time_point last_end_{};              // of the last step
  std::optional<clock::time_point> trim_at_;  // some time after the last step; none: the runner has been trimmed
  timers timers_;
  std::vector<scheduler::sequence_id> served_;  // by the last step, until the next round
  inbox inbox_;
  swap_completions swap_completions_;
  admission admission_;
  std::unique_ptr<stored_prefixes> prefixes_;
  std::shared_ptr<background_work> background_work_;  // null: there was none yet
  std::atomic<bool> asleep_ = false;                  // the engine thread sleeps, or is about to: wake() is needed
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> drops_prefixes_ = false;
  std::atomic<std::uint64_t> seed_;
  std::atomic<std::uint64_t> ids_ = 0;
  std::shared_ptr<engine_loop> self_;  // in a forked child; otherwise null
  bool took_late_ = false;             // in this round
  bool started_ = false;
  bool ended_ = false;
  mutable forkable_mutex mutex_;  // guards everything below
  diagnostics error_;
  engine_stats stats_;  // as last published
  std::vector<std::shared_ptr<request_state>> until_idle_;
};

}  // namespace cogen::detail
