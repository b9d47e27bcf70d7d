#include "engine/engine_loop.hpp"

#include "engine/async/process_executor.hpp"
#include "engine/runner/diagnostics_of.hpp"
#include "engine/stored_prefixes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace cogen::detail {
namespace {

/// Asio adds a timeout to the current time, and the sum must not overflow.
constexpr std::chrono::hours max_sleep(1);

/// For which memory is kept that nothing needs: as long as a person may take to answer.
constexpr std::chrono::seconds trim_delay(10);

diagnostics failed_step(const std::exception_ptr& why) noexcept try {
  return {error::device_failed, fmt::format("a step failed: {}", sentence_of(why))};
} catch (...) {
  return {error::device_failed, sentence_of(why)};
}

}  // namespace

engine_loop::engine_loop(engine_parts parts, engine_options options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      vocabulary_(parts_.runner->vocabulary()),
      snapshot_format_(parts_.runner->snapshot_format()),
      check_of_numbers_(parts_.runner->check_of_numbers()),
      formats_(parts_.tokenizer, options_.structured_output),
      compilations_(std::make_shared<compile_queue>(options_.external_stepping)),
      responses_(parts_.tokenizer),
      scheduler_(parts_.limits, std::move(parts_.scheduling_policy), std::move(parts_.preemption_policy),
                 std::move(parts_.allocation_policy)),
      metrics_(scheduler_, members_, parts_.limits.slots, std::move(options_.events), log_),
      kv_events_(options_.kv, scheduler_, parts_.limits.all_slots(), log_),
      swap_completions_(2 * parts_.limits.all_slots(), parts_.limits.depth,  // slots, and prefixes that are read
                        [this] { wake(); }),
      admission_(parts_.limits.slots, options_.limits.max_sequences, options_.limits.max_waiting,
                 [this] { notify_idle(); }),
      seed_(std::random_device{}()) {
  if (!options_.kv.prefix_cache_directory.empty()) prefixes_ = std::make_unique<stored_prefixes>(*this);
  publish();
}

engine_loop::~engine_loop() = default;

bool engine_loop::is_forked() const noexcept { return process_generation() != process_; }

bool engine_loop::enqueue(std::shared_ptr<request_state> request) noexcept {
  if (is_forked()) return false;
  const bool kept = inbox_.put(std::move(request));
  wake();
  return kept;
}

void engine_loop::request_stop() noexcept {
  stop_requested_.store(true);
  wake();
}

void engine_loop::drop_prefix_cache() noexcept {
  drops_prefixes_.store(true);
  wake();
}

diagnostics engine_loop::error() const noexcept {
  if (is_forked())
    return {error::engine_stopped, "the engine belongs to the parent process; make another one after fork()"};
  std::lock_guard lock(mutex_);
  return error_;
}

net::any_io_executor engine_loop::default_executor() const { return error() ? process_executor() : executor(); }

engine_stats engine_loop::stats() const {
  const auto accepted = admission_.now();
  const auto compiling = compilations_->size();
  std::lock_guard lock(mutex_);
  auto stats = stats_;
  stats.queued = accepted.waiting;
  stats.draining = accepted.draining;
  stats.compiling = static_cast<int>(compiling);
  return stats;
}

void engine_loop::wait_until_idle(std::shared_ptr<request_state> waiter) {
  std::lock_guard lock(mutex_);
  until_idle_.push_back(std::move(waiter));
}

void engine_loop::cancel_wait(const request_state& waiter) noexcept {
  std::shared_ptr<request_state> gone;  // destroyed after unlocking
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(until_idle_, &waiter, &std::shared_ptr<request_state>::get);
  if (found == until_idle_.end()) return;
  gone = std::move(*found);
  until_idle_.erase(found);
}

void engine_loop::notify_idle() noexcept {
  {
    std::lock_guard lock(mutex_);
    for (const auto& each : until_idle_) inbox_.put(each);
  }
  wake();
}

void engine_loop::offload(std::function<void()> job) {
  if (options_.external_stepping)
    job();
  else
    net::post(process_executor(), std::move(job));
}

template <class Call>
void engine_loop::attempt(request_state& member, const Call& call) {
  try {
    call();
  } catch (...) {
    member.end_with(diagnostics_of(std::current_exception()), view_);
  }
  metrics_.take_report(member);
}

void engine_loop::start() {
  if (!std::exchange(started_, true)) parts_.runner->start();
}

bool engine_loop::poll_one() {
  if (ended_) return false;
  drain_inbox();
  run_handlers();
  drain_inbox();
  expire_timers();
  wait_for_batch();
  const bool worked = run_step();
  return std::exchange(took_late_, false) || worked;
}

void engine_loop::run() noexcept {
  while (!stop_requested_.load()) {
    try {
      if (!poll_one()) sleep(std::nullopt);
    } catch (...) {
      log("a handler threw", std::current_exception());
    }
  }
  end();
}

void engine_loop::run_handlers() {
  queue_->restart();
  const std::size_t bound = 64 + 8 * members_.size();  // handlers that keep posting themselves must not block the steps
  for (std::size_t ran = 0; ran < bound && queue_->poll_one() > 0; ++ran)
    if (queue_->stopped()) queue_->restart();
}

void engine_loop::drain_inbox() noexcept try {
  scheduler_.advance_clock(parts_.clock->now().time_since_epoch());
  while (auto sender = inbox_.take()) {
    absorb_late(*sender);
    attempt(*sender, [&] { sender->process(view_); });
  }
  metrics_.take_transitions(now());
  if (!ended_) publish();
} catch (...) {
  fail(std::current_exception());
}

void engine_loop::expire_timers() {
  const auto first = timers_.first();
  const auto now = first ? parts_.clock->now() : clock::time_point();
  if (!first || now < *first) return;
  timers_.expire(now, view_, [this](request_state& expired) { metrics_.take_report(expired); });
  publish();
}

void engine_loop::wait_for_batch() {
  if (!options_.external_stepping && options_.batching.max_batch_delay.count() > 0) {
    const auto limit = std::chrono::steady_clock::now() + options_.batching.max_batch_delay;
    while (awaiting_client() && std::chrono::steady_clock::now() < limit && !stop_requested_.load()) {
      sleep(limit - std::chrono::steady_clock::now());
      drain_inbox();
    }
  }
  served_.clear();
}

bool engine_loop::awaiting_client() {
  return std::ranges::any_of(served_, [this](auto id) {
    const auto served = member(id);
    return served && served->awaits_client();
  });
}

std::shared_ptr<request_state> engine_loop::member(scheduler::sequence_id id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : found->second;
}

bool engine_loop::run_step() noexcept try {
  if (ended_) return false;
  start();
  complete_swaps();
  if (drops_prefixes_.exchange(false)) scheduler_.drop_prefix_cache();
  launch_steps();
  trim_when_idle();
  const bool worked = background_work_ && background_work_->run();
  auto done = take_executed();
  if (done.empty()) return worked;
  absorb(done.front());
  deliver(done.front());
  recycle(std::move(done));
  return true;
} catch (...) {
  fail(std::current_exception());
  return false;
}

void engine_loop::complete_swaps() {
  while (!swap_completions_.empty())
    for (const auto& each : swap_completions_.take()) complete_swap(each);
}

void engine_loop::complete_swap(const swap_completions::completion& swap) {
  if (swap.job) return swap.job();
  if (swap.error) log("a swap failed, and the sequence will be recomputed", swap.error);
  const auto end = scheduler_.on_swap_done(swap.name, !swap.error);
  metrics_.swapped(end, swap.error, now());
  if (prefixes_) prefixes_->on_swap_done(swap.name);
  const auto swapped = member(end.sequence);
  if (!end.is_current || !swapped) return;
  attempt(*swapped, [&] {
    if (!scheduler_.exact(end.sequence)) swapped->mark_inexact();
    swapped->swap_ended(view_);
  });
}

/// The next step; where two share the sequences, also the second one. If there is nothing to launch, a runner may end
/// the step in flight now.
void engine_loop::launch_steps() {
  auto* next = plan();
  if (!next) return finish_step();
  execute(*next);
  if (parts_.limits.run_ahead) return;
  next = plan();
  next ? execute(*next) : finish_step();
}

/// The next step, in flight from now on. Null if nothing can run now.
step_in_flight* engine_loop::plan() {
  if (static_cast<int>(in_flight_.size()) >= parts_.limits.depth || stop_requested_.load()) return nullptr;
  const auto begin = now();
  auto& step = unused_step();
  scheduler_.next(begin.time_since_epoch(), step);
  allowance_.begin_step();
  kv_events_.report();
  if (step.empty()) return nullptr;
  for (const auto& row : step.rows) {
    const auto& member = members_.at(row.sequence);
    if (row.prefix_hit_tokens) member->schedule(*row.prefix_hit_tokens);
    step.add_request(row, member);
  }
  in_flight_.splice(in_flight_.end(), recycled_, recycled_.begin());
  metrics_.planned(step, begin);
  publish();
  return &step;
}

step_in_flight& engine_loop::unused_step() {
  if (recycled_.empty()) recycled_.emplace_back(swap_completions_, wake_);
  return recycled_.front();
}

void engine_loop::execute(step_in_flight& step) {
  try {
    parts_.runner->launch(step);
  } catch (...) {
    step.done(std::current_exception());
  }
}

void engine_loop::finish_step() {
  if (in_flight_.empty() || in_flight_.front().is_done()) return;
  try {
    parts_.runner->finish();
  } catch (...) {
    in_flight_.front().done(std::current_exception());
  }
}

void engine_loop::trim_when_idle() {
  if (!in_flight_.empty()) return void(trim_at_ = now() + trim_delay);
  if (!trim_at_ || now() < *trim_at_) return;
  trim_at_.reset();
  parts_.runner->trim();
}

/// The oldest step in flight, if it has been executed; otherwise nothing.
std::list<step_in_flight> engine_loop::take_executed() {
  std::list<step_in_flight> done;
  if (!in_flight_.empty() && in_flight_.front().is_done()) done.splice(done.end(), in_flight_, in_flight_.begin());
  return done;
}

void engine_loop::absorb(step_in_flight& step) {
  if (step.error()) std::rethrow_exception(step.error());
  const auto end = now();
  metrics_.executed(step, end);
  if (step.has_outputs()) take_outputs(step);
  scheduler_.absorb(step, time_of(step, end));
}

/// What the scheduler does not do: scores of prompts, and guides that follow what was sampled.
void engine_loop::take_outputs(step_in_flight& step) {
  for (std::size_t row = 0; row < step.rows.size(); ++row) {
    if (!step.rows[row].scored && !step.sampling.rows[row].masks) continue;
    auto* const request = step.check_scores(row) ? step.request_of(row) : nullptr;
    if (!request) continue;
    auto& sampling = *request->sampling();
    sampling.take_scores(step.rows[row].position, step.scores_of(row));
    if (step.sampling.rows[row].masks && sampling.follows()) follow(step, row, sampling);
  }
}

void engine_loop::follow(step_in_flight& step, std::size_t row, sampling_state& sampling) {
  const auto drafts = step.drafts_of(step.rows[row]);
  const int accepted = step.accepted_drafts(row);
  for (int i = 0; i <= accepted && step.sampled_after(row, i) >= 0; ++i)
    step.set_output(row, sampling.follow(std::move(step.output_of(row, i)), drafts.first(static_cast<std::size_t>(i))),
                    i);
}

/// Delivers the step's events to the requests that are still there.
void engine_loop::deliver(step_in_flight& step) {
  for (const auto& event : step.events) {
    const auto row = static_cast<std::size_t>(event.row);
    auto* const request = step.request_of(row);
    if (request) attempt(*request, [&] { request->deliver(event, step.output_of(row, event.after_drafts), view_); });
  }
  for (std::size_t row = 0; row < step.rows.size(); ++row) {
    auto* const request = step.rows[row].late ? step.request_of(row) : nullptr;
    if (request)
      attempt(*request, [&] {
        request->begin_late({step.rows[row].sequence, step.number}, std::move(step.output_of(row)));
      });
  }
}

void engine_loop::absorb_late(request_state& request) {
  auto late = request.take_late();
  if (!late) return;
  auto& [sample, outcome] = *late;
  if (outcome.late) return attempt(request, [&] { request.begin_late(sample, std::move(outcome)); });
  took_late_ = true;
  served_.push_back(sample.sequence);
  const bool is_wanted = !request.is_unwanted();
  for (const auto& event : scheduler_.absorb(sample))
    if (is_wanted && request.is_registered_as(event.sequence))
      attempt(request, [&] { request.deliver(event, outcome, view_); });
}

void engine_loop::recycle(std::list<step_in_flight> done) {
  if (ended_) return;
  auto& step = done.front();
  served_.clear();
  for (const auto& row : step.rows) served_.push_back(row.sequence);
  step.clear();
  recycled_.splice(recycled_.begin(), done);
  publish();
}

std::chrono::nanoseconds engine_loop::time_of(const step_in_flight& step, clock::time_point end) {
  const auto begin = std::max(step.event.begin, last_end_);
  last_end_ = end;
  return end - begin;
}

void engine_loop::fail(const std::exception_ptr& why) noexcept {
  log("a step failed", why);
  {
    std::lock_guard lock(mutex_);
    error_ = failed_step(why);
  }
  end();
  stop_requested_.store(true);
}

void engine_loop::log(std::string_view message, const std::exception_ptr& why) noexcept {
  log(message, sentence_of(why));
}

void engine_loop::log(std::string_view message, std::string_view why) noexcept try {
  if (options_.log) options_.log(fmt::format("{}: {}", message, why));
} catch (...) {  // a log callback that throws must not stop the engine
}

/// Runs handlers while `waits` is true, which the runner changes.
template <class Waits>
void engine_loop::wait_while(const Waits& waits) {
  asleep_.store(true);
  for (queue_->restart(); waits(); queue_->restart()) queue_->run_one();
  asleep_.store(false);
}

/// Copies what is kept of ended sequences out of its slots, and stores it. What runs ends here.
void engine_loop::save_prefixes() noexcept try {
  if (!prefixes_ || error()) return;
  for (const auto& [id, member] : members_) scheduler_.cancel(id);
  for (complete_swaps(); !in_flight_.empty(); complete_swaps()) {
    finish_step();
    wait_while([&] { return swap_completions_.empty() && !in_flight_.front().is_done(); });
    for (auto& each : take_executed()) absorb(each);
  }
  auto copies = scheduler_.copy_out_prefixes();
  if (copies.empty()) return;
  auto& step = unused_step();
  scheduler_.next(now().time_since_epoch(), step);
  in_flight_.splice(in_flight_.end(), recycled_, recycled_.begin());
  execute(step);
  for (auto left = copies.size(); left > 0;) {
    wait_while([&] { return swap_completions_.empty() && !(step.is_done() && step.error()); });
    if (step.is_done() && step.error()) std::rethrow_exception(step.error());
    for (const auto& each : swap_completions_.take()) {
      if (each.job) {
        each.job();
        continue;
      }
      left -= std::ranges::count(copies, each.name, &scheduler::cached_prefix::name);
      if (each.error) std::erase_if(copies, [&](const auto& copy) { return copy.name == each.name; });
    }
  }
  prefixes_->save(copies, *parts_.runner);
} catch (...) {
  log("prefixes cannot be stored", std::current_exception());
}

void engine_loop::end() noexcept {
  if (std::exchange(ended_, true)) return;
  save_prefixes();
  diagnostics why;
  {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = diagnostics(error::engine_stopped, "the engine was stopped");
    why = error_;
  }
  inbox_.close();
  while (auto sender = inbox_.take()) {
    sender->post_again();
    sender->fail(why);
    metrics_.take_report(*sender);
  }
  parts_.runner.reset();
  in_flight_.clear();
  recycled_.clear();
  served_.clear();
  timers_.clear();
  for (auto members = std::exchange(members_, {}); auto& [id, member] : members) {
    member->fail(why);
    metrics_.take_report(*member);
  }
  std::vector<std::shared_ptr<request_state>> until_idle;
  {
    std::lock_guard lock(mutex_);
    until_idle.swap(until_idle_);
  }
  for (const auto& each : until_idle) each->fail(why);
  if (prefixes_) prefixes_->fail(why);
  if (background_work_) std::exchange(background_work_, nullptr)->fail(why);
  publish();
  metrics_.ended(why, now());
  try {
    run_handlers();
  } catch (...) {
    log("a handler threw", std::current_exception());
  }
  queue_->close();
}

void engine_loop::sleep(std::optional<clock::duration> limit) {
  for (const auto& timer : {timers_.first(), trim_at_}) {
    if (!timer) continue;
    const auto until_timer = *timer - parts_.clock->now();
    limit = std::min(limit.value_or(until_timer), until_timer);
  }
  if (const auto wake = scheduler_.wake()) {
    const clock::duration until_wake = *wake - parts_.clock->now().time_since_epoch();
    limit = std::min(limit.value_or(until_wake), until_wake);
  }
  asleep_.store(true);
  queue_->restart();
  const bool work = !inbox_.empty() || !swap_completions_.empty() || stop_requested_.load() || drops_prefixes_.load() ||
                    (!in_flight_.empty() && in_flight_.front().is_done());
  if (!work && limit)
    queue_->run_one_for(std::min<clock::duration>(*limit, max_sleep));
  else if (!work)
    queue_->run_one();
  asleep_.store(false);
}

void engine_loop::wake() noexcept {
  if (asleep_.load() && !is_forked()) queue_->stop();
}

void engine_loop::publish() {
  std::lock_guard lock(mutex_);
  stats_ = metrics_.stats();
  stats_.sequences = admission_.now().sequences;
}

}  // namespace cogen::detail
