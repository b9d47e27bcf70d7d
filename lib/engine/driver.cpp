#include "engine/driver.hpp"

#include "engine/failure_of.hpp"

#include <boost/asio/system_executor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace cogen::detail {
namespace {

/// Asio adds it to the time of day, which must not overflow.
constexpr std::chrono::hours longest_sleep(1);

diagnostics failed_step(const std::exception_ptr& why) noexcept try {
  return {error::device_failed, fmt::format("a step failed: {}", sentence_of(why))};
} catch (...) {
  return {error::device_failed, sentence_of(why)};
}

}  // namespace

driver::driver(engine_parts parts, engine_options options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      vocabulary_(parts_.runner->vocabulary()),
      snapshot_format_(parts_.runner->snapshot_format()),
      scheduler_(parts_.limits, std::move(parts_.scheduling_policy), std::move(parts_.preemption_policy),
                 std::move(parts_.allocation_policy)),
      observer_(scheduler_, members_, parts_.limits.slots, std::move(options_.events),
                [this](std::string_view what, const std::exception_ptr& why) { log(what, why); }),
      arrivals_(parts_.limits.all_slots(), [this] { wake(); }),
      room_(options_.limits.max_sequences, options_.limits.max_waiting, [this] { notify_idle(); }),
      seed_(std::random_device{}()) {
  publish();
}

driver::~driver() = default;

bool driver::mail(std::shared_ptr<request_state> from) noexcept {
  const bool kept = mailbox_.put(std::move(from));
  wake();
  return kept;
}

void driver::request_stop() noexcept {
  stop_requested_.store(true);
  wake();
}

diagnostics driver::error() const noexcept {
  std::lock_guard lock(mutex_);
  return error_;
}

net::any_io_executor driver::default_executor() const {
  if (error()) return net::system_executor();
  return executor();
}

engine_stats driver::stats() const {
  const auto accepted = room_.now();
  std::lock_guard lock(mutex_);
  auto stats = stats_;
  stats.queued = accepted.waiting;
  stats.draining = accepted.draining;
  return stats;
}

void driver::wait_until_idle(std::shared_ptr<request_state> who) {
  std::lock_guard lock(mutex_);
  until_idle_.push_back(std::move(who));
}

void driver::wait_no_more(const request_state& who) noexcept {
  std::shared_ptr<request_state> gone;  // destroyed after the lock
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(until_idle_, &who, &std::shared_ptr<request_state>::get);
  if (found == until_idle_.end()) return;
  gone = std::move(*found);
  until_idle_.erase(found);
}

void driver::notify_idle() noexcept {
  {
    std::lock_guard lock(mutex_);
    for (const auto& each : until_idle_) mailbox_.put(each);
  }
  wake();
}

void driver::offload(std::function<void()> job) {
  if (options_.external_stepping)
    job();
  else
    net::post(net::system_executor(), std::move(job));
}

void driver::join(scheduler::sequence_id id, std::shared_ptr<request_state> member) {
  auto& joined = members_[id] = std::move(member);
  observer_.joined(*joined, id, now());
}

template <class Call>
void driver::attempt(request_state& member, const Call& call) {
  try {
    call();
  } catch (...) {
    member.end_with(diagnostics_of(std::current_exception()));
  }
  observer_.look_at(member);
}

bool driver::turn() {
  if (ended_) return false;
  read_mail();
  run_handlers();
  read_mail();
  ring_alarms();
  wait_for_batch();
  return advance();
}

void driver::run() noexcept {
  while (!stop_requested_.load()) {
    try {
      if (!turn()) sleep(std::nullopt);
    } catch (...) {
      log("a handler threw", std::current_exception());
    }
  }
  end();
}

void driver::run_handlers() {
  queue_->restart();
  const std::size_t bound = 64 + 8 * members_.size();  // code that posts itself for ever must not hold up the steps
  for (std::size_t ran = 0; ran < bound && queue_->poll_one() > 0; ++ran)
    if (queue_->stopped()) queue_->restart();
}

void driver::read_mail() noexcept try {
  scheduler_.advance_clock(parts_.clock->now().time_since_epoch());
  while (auto sender = mailbox_.take()) attempt(*sender, [&] { sender->process(); });
  observer_.look_at_preempted(now());
  if (!ended_) publish();
} catch (...) {
  die(std::current_exception());
}

void driver::ring_alarms() {
  const auto first = timers_.first();
  const auto now = first ? parts_.clock->now() : clock::time_point();
  if (!first || now < *first) return;
  timers_.ring(now, [this](request_state& woken) { observer_.look_at(woken); });
  publish();
}

void driver::wait_for_batch() {
  if (!options_.external_stepping && options_.batching.max_batch_delay.count() > 0) {
    const auto limit = std::chrono::steady_clock::now() + options_.batching.max_batch_delay;
    while (awaiting_client() && std::chrono::steady_clock::now() < limit && !stop_requested_.load()) {
      sleep(limit - std::chrono::steady_clock::now());
      read_mail();
    }
  }
  served_.clear();
}

bool driver::awaiting_client() {
  return std::any_of(served_.begin(), served_.end(), [](const auto& each) { return each->owner_is_thinking(); });
}

bool driver::advance() noexcept try {
  if (ended_) return false;
  take_arrivals();
  launch_next();
  return deliver_done();
} catch (...) {
  die(std::current_exception());
  return false;
}

void driver::take_arrivals() {
  while (!arrivals_.empty())
    for (const auto& each : arrivals_.take()) take_arrival(each);
}

void driver::take_arrival(const arrivals::arrival& what) {
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

void driver::launch_next() {
  if (static_cast<int>(in_flight_.size()) >= parts_.limits.depth || stop_requested_.load()) return;
  const auto begin = now();
  const int waited = scheduler_.waiting();
  auto& step = recycle_step();
  auto& plan = step.to_plan();
  scheduler_.next(begin.time_since_epoch(), plan);
  if (plan.empty()) return;
  for (const auto& row : plan.rows) step.belongs_to(members_.at(row.sequence)).scheduled();
  in_flight_.splice(in_flight_.end(), landed_, landed_.begin());
  observer_.launched(step, waited, begin);
  publish();
  try {
    parts_.runner->launch(step);
  } catch (...) {
    step.done(std::current_exception());
  }
}

step_in_flight& driver::recycle_step() {
  if (landed_.empty()) landed_.emplace_back(arrivals_, [this] { wake(); });
  return landed_.front();
}

bool driver::deliver_done() {
  if (in_flight_.empty() || !in_flight_.front().is_done()) return false;
  std::list<step_in_flight> landing;
  landing.splice(landing.end(), in_flight_, in_flight_.begin());
  auto& step = landing.front();
  if (step.error())
    die(step.error());
  else
    absorb(step);
  if (ended_) return true;
  step.land(served_);
  landed_.splice(landed_.begin(), landing);
  publish();
  return true;
}

void driver::absorb(step_in_flight& step) {
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

std::chrono::nanoseconds driver::time_of(const step_in_flight& step, clock::time_point end) {
  const auto begin = std::max(step.event.begin, last_end_);
  last_end_ = end;
  return end - begin;
}

void driver::die(const std::exception_ptr& why) noexcept {
  log("a step failed", why);
  {
    std::lock_guard lock(mutex_);
    error_ = failed_step(why);
  }
  end();
  stop_requested_.store(true);
}

void driver::log(std::string_view what, const std::exception_ptr& why) noexcept try {
  if (options_.log) options_.log(fmt::format("{}: {}", what, sentence_of(why)));
} catch (...) {  // a log that fails must not take the engine with it
}

void driver::end() noexcept {
  if (std::exchange(ended_, true)) return;
  diagnostics why;
  {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = diagnostics(error::engine_stopped, "the engine was stopped");
    why = error_;
  }
  mailbox_.close();
  while (auto sender = mailbox_.take()) {
    sender->post_again();
    sender->fail(why);
    observer_.look_at(*sender);
  }
  parts_.runner.reset();
  in_flight_.clear();
  landed_.clear();
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

void driver::sleep(std::optional<clock::duration> limit) {
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
  const bool work = !mailbox_.empty() || !arrivals_.empty() || stop_requested_.load() ||
                    (!in_flight_.empty() && in_flight_.front().is_done());
  if (!work && limit)
    queue_->run_one_for(std::min<clock::duration>(*limit, longest_sleep));
  else if (!work)
    queue_->run_one();
  asleep_.store(false);
}

void driver::wake() noexcept {
  if (asleep_.load()) queue_->stop();
}

void driver::publish() {
  std::lock_guard lock(mutex_);
  stats_ = observer_.stats();
  stats_.sequences = room_.now().sequences;
}

}  // namespace cogen::detail
