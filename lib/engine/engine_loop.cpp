#include "engine/engine_loop.hpp"

#include "engine/diagnostics_of.hpp"

#include <boost/asio/system_executor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace cogen::detail {
namespace {

/// Asio adds a timeout to the current time, and the sum must not overflow.
constexpr std::chrono::hours longest_sleep(1);

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
      scheduler_(parts_.limits, std::move(parts_.scheduling_policy), std::move(parts_.preemption_policy),
                 std::move(parts_.allocation_policy)),
      observer_(scheduler_, members_, parts_.limits.slots, std::move(options_.events),
                [this](std::string_view what, const std::exception_ptr& why) { log(what, why); }),
      swap_completions_(parts_.limits.all_slots(), [this] { wake(); }),
      room_(options_.limits.max_sequences, options_.limits.max_waiting, [this] { notify_idle(); }),
      seed_(std::random_device{}()) {
  publish();
}

engine_loop::~engine_loop() = default;

bool engine_loop::enqueue(std::shared_ptr<request_state> from) noexcept {
  const bool kept = inbox_.put(std::move(from));
  wake();
  return kept;
}

void engine_loop::request_stop() noexcept {
  stop_requested_.store(true);
  wake();
}

diagnostics engine_loop::error() const noexcept {
  std::lock_guard lock(mutex_);
  return error_;
}

net::any_io_executor engine_loop::default_executor() const {
  if (error()) return net::system_executor();
  return executor();
}

engine_stats engine_loop::stats() const {
  const auto accepted = room_.now();
  std::lock_guard lock(mutex_);
  auto stats = stats_;
  stats.queued = accepted.waiting;
  stats.draining = accepted.draining;
  return stats;
}

void engine_loop::wait_until_idle(std::shared_ptr<request_state> who) {
  std::lock_guard lock(mutex_);
  until_idle_.push_back(std::move(who));
}

void engine_loop::wait_no_more(const request_state& who) noexcept {
  std::shared_ptr<request_state> gone;  // destroyed after unlocking
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(until_idle_, &who, &std::shared_ptr<request_state>::get);
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
    net::post(net::system_executor(), std::move(job));
}

void engine_loop::join(scheduler::sequence_id id, std::shared_ptr<request_state> member) {
  auto& joined = members_[id] = std::move(member);
  observer_.joined(*joined, id, now());
}

template <class Call>
void engine_loop::attempt(request_state& member, const Call& call) {
  try {
    call();
  } catch (...) {
    member.end_with(diagnostics_of(std::current_exception()));
  }
  observer_.look_at(member);
}

bool engine_loop::turn() {
  if (ended_) return false;
  drain_inbox();
  run_handlers();
  drain_inbox();
  fire_timers();
  wait_for_batch();
  return advance();
}

void engine_loop::run() noexcept {
  while (!stop_requested_.load()) {
    try {
      if (!turn()) sleep(std::nullopt);
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
  while (auto sender = inbox_.take()) attempt(*sender, [&] { sender->process(); });
  observer_.look_at_slots(now());
  if (!ended_) publish();
} catch (...) {
  die(std::current_exception());
}

void engine_loop::fire_timers() {
  const auto first = timers_.first();
  const auto now = first ? parts_.clock->now() : clock::time_point();
  if (!first || now < *first) return;
  timers_.fire(now, [this](request_state& woken) { observer_.look_at(woken); });
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
  return std::any_of(served_.begin(), served_.end(), [](const auto& each) { return each->owner_is_thinking(); });
}

bool engine_loop::advance() noexcept try {
  if (ended_) return false;
  take_swap_completions();
  launch_next();
  return deliver_done();
} catch (...) {
  die(std::current_exception());
  return false;
}

void engine_loop::take_swap_completions() {
  while (!swap_completions_.empty())
    for (const auto& each : swap_completions_.take()) take_swap_completion(each);
}

void engine_loop::take_swap_completion(const swap_completions::completion& what) {
  if (what.job) return what.job();
  if (what.error) log("what a sequence had cached was lost on its way", what.error);
  observer_.transferred(what.name, what.error, now());
  const auto seq = scheduler_.transferred(what.name, !what.error);
  if (const auto found = seq ? members_.find(*seq) : members_.end(); found != members_.end())
    attempt(*found->second, [this, id = *seq, member = found->second] {
      if (!scheduler_.exact(id)) member->lose_exactness();
      member->moved();
    });
}

void engine_loop::launch_next() {
  if (static_cast<int>(in_flight_.size()) >= parts_.limits.depth || stop_requested_.load()) return;
  const auto begin = now();
  auto& step = recycle_step();
  auto& plan = step.to_plan();
  scheduler_.next(begin.time_since_epoch(), plan);
  if (plan.empty()) return;
  for (const auto& row : plan.rows) step.belongs_to(members_.at(row.sequence)).scheduled();
  in_flight_.splice(in_flight_.end(), recycled_, recycled_.begin());
  observer_.launched(step, begin);
  publish();
  try {
    parts_.runner->launch(step);
  } catch (...) {
    step.done(std::current_exception());
  }
}

step_in_flight& engine_loop::recycle_step() {
  if (recycled_.empty()) recycled_.emplace_back(swap_completions_, [this] { wake(); });
  return recycled_.front();
}

bool engine_loop::deliver_done() {
  if (in_flight_.empty() || !in_flight_.front().is_done()) return false;
  std::list<step_in_flight> done;
  done.splice(done.end(), in_flight_, in_flight_.begin());
  auto& step = done.front();
  if (step.error())
    die(step.error());
  else
    absorb(step);
  if (ended_) return true;
  step.recycle(served_);
  recycled_.splice(recycled_.begin(), done);
  publish();
  return true;
}

void engine_loop::absorb(step_in_flight& step) {
  const auto end = now();
  observer_.ended(step, end);
  scheduler_.absorb(step.plan(), step.results(), time_of(step, end), events_);
  for (const auto& event : events_) {
    const auto row = static_cast<std::size_t>(event.row);
    auto& member = step.owner_of(row);
    if (!member.goes_by(event.sequence) || ended_) continue;
    attempt(member, [&] { member.take(event, step.outcomes()[row]); });
  }
}

std::chrono::nanoseconds engine_loop::time_of(const step_in_flight& step, clock::time_point end) {
  const auto begin = std::max(step.event.begin, last_end_);
  last_end_ = end;
  return end - begin;
}

void engine_loop::die(const std::exception_ptr& why) noexcept {
  log("a step failed", why);
  {
    std::lock_guard lock(mutex_);
    error_ = failed_step(why);
  }
  end();
  stop_requested_.store(true);
}

void engine_loop::log(std::string_view what, const std::exception_ptr& why) noexcept try {
  if (options_.log) options_.log(fmt::format("{}: {}", what, sentence_of(why)));
} catch (...) {  // a log callback that throws must not stop the engine
}

void engine_loop::end() noexcept {
  if (std::exchange(ended_, true)) return;
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
    observer_.look_at(*sender);
  }
  parts_.runner.reset();
  in_flight_.clear();
  recycled_.clear();
  served_.clear();
  timers_.clear();
  for (auto members = std::exchange(members_, {}); auto& [id, member] : members) {
    member->fail(why);
    observer_.look_at(*member);
  }
  std::vector<std::shared_ptr<request_state>> until_idle;
  {
    std::lock_guard lock(mutex_);
    until_idle.swap(until_idle_);
  }
  for (const auto& each : until_idle) each->fail(why);
  publish();
  observer_.ended(why, now());
  try {
    run_handlers();
  } catch (...) {
    log("a handler threw", std::current_exception());
  }
  queue_->close();
}

void engine_loop::sleep(std::optional<clock::duration> limit) {
  if (const auto timer = timers_.first()) {
    const auto until_timer = *timer - parts_.clock->now();
    limit = std::min(limit.value_or(until_timer), until_timer);
  }
  if (const auto wake = scheduler_.wake()) {
    const clock::duration until_wake = *wake - parts_.clock->now().time_since_epoch();
    limit = std::min(limit.value_or(until_wake), until_wake);
  }
  asleep_.store(true);
  queue_->restart();
  const bool work = !inbox_.empty() || !swap_completions_.empty() || stop_requested_.load() ||
                    (!in_flight_.empty() && in_flight_.front().is_done());
  if (!work && limit)
    queue_->run_one_for(std::min<clock::duration>(*limit, longest_sleep));
  else if (!work)
    queue_->run_one();
  asleep_.store(false);
}

void engine_loop::wake() noexcept {
  if (asleep_.load()) queue_->stop();
}

void engine_loop::publish() {
  std::lock_guard lock(mutex_);
  stats_ = observer_.stats();
  stats_.sequences = room_.now().sequences;
}

}  // namespace cogen::detail
