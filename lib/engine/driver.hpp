#pragma once

#include "engine/admission.hpp"
#include "engine/arrivals.hpp"
#include "engine/mailbox.hpp"
#include "engine/observer.hpp"
#include "engine/step_in_flight.hpp"
#include "engine/timers.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/engine_parts.hpp>

#include <atomic>
#include <list>
#include <unordered_map>

namespace cogen::detail {

/// The engine's loop and what it works on. Handles share it, so it lives as long as any of them.
class driver {
 public:
  driver(engine_parts parts, engine_options options);
  ~driver();

  // Any thread.

  /// Has `attend()` called soon. False once the engine has ended: then it never will be.
  bool mail(std::shared_ptr<request_state> from) noexcept;
  void request_stop() noexcept;
  /// Where handlers run that have no executor of their own: on the engine's, once it has ended on the system's.
  net::any_io_executor default_executor() const;
  async::engine_executor executor() const { return async::engine_executor(queue_); }
  clock::time_point now() const noexcept { return parts_.clock->now(); }
  const engine_parts& parts() const noexcept { return parts_; }
  const engine_options& options() const noexcept { return options_; }
  int vocabulary() const noexcept { return vocabulary_; }
  const std::string& snapshot_format() const noexcept { return snapshot_format_; }
  diagnostics error() const noexcept;
  engine_stats stats() const;

  /// A seed for a request that names none: differs from engine to engine and request to request.
  std::uint64_t fresh_seed() noexcept { return seed_.fetch_add(0x9e3779b97f4a7c15); }

  /// Who may come in.
  admission& room() noexcept { return room_; }

  /// Has `attend()` called once nobody is at work after room().drain(), or `fail()` where the engine ends before.
  /// Throws std::bad_alloc.
  void wait_until_idle(std::shared_ptr<request_state> who);
  void wait_no_more(const request_state& who) noexcept;
  std::uint64_t fresh_id() noexcept { return ++ids_; }

  /// Runs `job` away from the caller and from the steps. By hand: at once.
  void offload(std::function<void()> job);

  // The thread that drives.

  /// One round: mail, handlers, what they mailed; at most one launch and one delivery. True when a step was delivered.
  bool turn();

  /// Rounds until told to stop, asleep while there is nothing to do; then `end()`.
  void run() noexcept;

  /// Tells everybody that it is over. Only once.
  void end() noexcept;

  // For request states, within process() and take().

  scheduler::scheduler& plans() noexcept { return scheduler_; }
  runner& device() noexcept { return *parts_.runner; }
  void join(scheduler::sequence_id id, std::shared_ptr<request_state> member);
  void leave(scheduler::sequence_id id) { members_.erase(id); }
  void wake_at(clock::time_point time, const std::shared_ptr<request_state>& seq) { timers_.set(time, seq); }
  void cancel_timer(request_state& seq) noexcept { timers_.forget(seq); }

 private:
  void run_handlers();
  void read_mail() noexcept;
  void take_arrivals();
  void take_arrival(const arrivals::arrival& what);

  /// What the call throws is the member's own end. The caller holds the member.
  template <class Call>
  void attempt(request_state& member, const Call& call);

  void ring_alarms();
  void wait_for_batch();
  bool advance() noexcept;
  void launch_next();
  step_in_flight& recycle_step();
  bool deliver_done();
  void absorb(step_in_flight& step);

  /// For how long the engine waited for this step alone.
  std::chrono::nanoseconds time_of(const step_in_flight& step, clock::time_point end);
  void die(const std::exception_ptr& why) noexcept;
  void log(std::string_view what, const std::exception_ptr& why) noexcept;
  void sleep(std::optional<clock::duration> limit);
  void wake() noexcept;
  bool awaiting_client();
  void publish();
  void notify_idle() noexcept;

  engine_parts parts_;
  engine_options options_;
  const int vocabulary_;
  const std::string snapshot_format_;
  const std::shared_ptr<async::engine_queue> queue_ = std::make_shared<async::engine_queue>();
  scheduler::scheduler scheduler_;
  member_map members_;
  observer observer_;
  std::list<step_in_flight> in_flight_;
  std::list<step_in_flight> landed_;  // whose memory the next ones use
  std::vector<scheduler::event> events_;
  clock::time_point last_end_{};  // of a step
  timers timers_;
  std::vector<std::shared_ptr<request_state>> served_;  // by the last step, until the next round
  mailbox mailbox_;
  arrivals arrivals_;
  admission room_;
  std::atomic<bool> asleep_ = false;  // the driving thread waits, or is about to: whoever adds work wakes it
  std::atomic<bool> stop_requested_ = false;
  std::atomic<std::uint64_t> seed_;
  std::atomic<std::uint64_t> ids_ = 0;
  bool ended_ = false;
  mutable std::mutex mutex_;  // guards those below
  diagnostics error_;
  engine_stats stats_;  // as they were last published
  std::vector<std::shared_ptr<request_state>> until_idle_;
};

}  // namespace cogen::detail
