#include "absorb.hpp"
#include "admit.hpp"
#include "batch.hpp"
#include "deadlines.hpp"
#include "limits.hpp"
#include "preempt.hpp"
#include "prefix_cache.hpp"
#include "prefix_copies.hpp"
#include "reserve.hpp"
#include "snapshot.hpp"
#include "state.hpp"
#include "verify.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

std::string name(sequence_id id) { return "sequence " + std::to_string(static_cast<std::uint64_t>(id)); }

template <class Sequences>
auto* find(Sequences& sequences, sequence_id id) {
  const auto found = sequences.find(id);
  return found == sequences.end() ? nullptr : &found->second;
}

template <class Sequences>
auto& known(Sequences& sequences, sequence_id id) {
  auto* const found = find(sequences, id);
  if (!found) throw std::out_of_range(name(id) + " is not known");
  return *found;
}

sequence& idle_one(state& sched, sequence_id id) {
  sequence& seq = known(sched.sequences, id);
  if (seq.running) throw std::logic_error(name(id) + " is not idle");
  return seq;
}

void not_negative(const char* option, int value) {
  if (value < 0)
    throw std::invalid_argument(std::string(option) + " is " + std::to_string(value) + "; it must be at least 0");
}

/// What a sequence may hold by its options.
int allowed_length(const state& sched, const sequence_options& options) {
  not_negative("max_sequence_length", options.max_sequence_length);
  not_negative("max_new_tokens", options.max_new_tokens);
  if (options.max_sequence_length > sched.within.max_sequence_length)
    throw std::length_error("max_sequence_length is " + std::to_string(options.max_sequence_length) +
                            "; the limit is " + std::to_string(sched.within.max_sequence_length));
  return options.max_sequence_length == 0 ? sched.within.max_sequence_length : options.max_sequence_length;
}

/// A sequence that is released with its first run holds no more than that run needs.
int needed_length(const sequence_options& options, const run& first, int allowed) {
  if (!options.release_at_end) return allowed;
  const auto sampled = first.wanted == output::sample ? std::size_t(options.max_new_tokens) : 0;
  const auto needed = std::max<std::size_t>(1, first.tokens.size() + sampled);
  return static_cast<int>(std::min(needed, static_cast<std::size_t>(allowed)));
}

sequence make_sequence(const state& sched, const sequence_options& options, int capacity) {
  const auto bytes = sched.within.usage(capacity);
  if (bytes > sched.within.memory_bytes)
    throw std::length_error("a sequence of " + std::to_string(capacity) + " tokens takes " + std::to_string(bytes) +
                            " bytes; the budget is " + std::to_string(sched.within.memory_bytes));
  sequence result;
  result.options = options;
  std::sort(result.options.end_tokens.begin(), result.options.end_tokens.end());
  result.capacity = capacity;
  result.runs_ahead = sched.within.run_ahead;
  return result;
}

sequence& accepted(state& sched, sequence&& added) {
  added.id = sequence_id{++sched.ids};
  sequence& seq = sched.sequences.emplace(added.id, std::move(added)).first->second;
  try {
    sched.queued.join(seq.options.tenant);
  } catch (...) {
    sched.sequences.erase(seq.id);
    throw;
  }
  seq.nodes.name(&seq);
  return seq;
}

/// The time of a request made now; 0 before the first clock reading.
time asked_now(const state& sched) { return sched.now == time::min() ? time() : sched.now; }

/// The first of those absorbed: its memory is reused.
step_record& fresh_record(state& sched, std::uint64_t number) {
  if (sched.absorbed.empty()) sched.absorbed.emplace_back();
  auto& record = sched.absorbed.front();
  record.number = number;
  record.rows.clear();
  record.tokens = record.drafts = 0;
  return record;
}

void learn(state& sched, const step_record& record, std::chrono::nanoseconds took) {
  sched.costs.took(record.tokens, took);
  const auto rows = std::ssize(record.rows);
  if (sched.has_drafts && record.tokens == rows + record.drafts) sched.costs_of_drafts.took(rows, record.drafts, took);
}

/// Throws deadline_unreachable, and has changed nothing then.
void begin(state& sched, sequence& seq, run&& next) {
  const int cached = seq.cached;
  seq.begin(std::move(next), ++sched.arrivals, asked_now(sched));
  seq.current.last_asked = ++sched.asked;
  try {
    refuse_unreachable(sched, seq);
  } catch (...) {
    seq.undo();
    seq.end();
    seq.cached = cached;
    throw;
  }
  // No other sequence shares what it recomputes; that would delay it.
  if (seq.slot >= 0) sched.known.cut(seq.slot, seq.cached);
}

}  // namespace

state::state(const limits& limits, std::unique_ptr<scheduling_policy> scheduling_policy,
             std::unique_ptr<preemption_policy> preemption_policy, std::unique_ptr<allocation_policy> allocation_policy)
    : within(checked(limits)),
      policy(scheduling_policy ? std::move(scheduling_policy) : fcfs(), breach),
      leaves(preemption_policy ? std::move(preemption_policy) : longest_idle(), breach),
      reserves(allocation_policy ? std::move(allocation_policy) : reserve_max_length(), within.memory_bytes, breach),
      slots(within, reserves.high(within.memory_bytes)),
      swapped_out(within),
      known(within.all_slots()),
      queued(policy) {}

scheduler::scheduler(const limits& limits, std::unique_ptr<scheduling_policy> scheduling_policy,
                     std::unique_ptr<preemption_policy> preemption_policy, std::unique_ptr<allocation_policy> reserves)
    : state_(std::make_unique<state>(limits, std::move(scheduling_policy), std::move(preemption_policy),
                                     std::move(reserves))) {}

scheduler::~scheduler() = default;
scheduler::scheduler(scheduler&&) noexcept = default;

// Sequences

sequence_id scheduler::submit(const sequence_options& options, run first) {
  const int allowed = allowed_length(*state_, options);
  auto added = make_sequence(*state_, options, needed_length(options, first, allowed));
  added.check(first);
  begin(*state_, added, std::move(first));
  sequence& seq = accepted(*state_, std::move(added));
  state_->queued.place(seq);
  return seq.id;
}

sequence_id scheduler::submit(const sequence_options& options) {
  return accepted(*state_, make_sequence(*state_, options, allowed_length(*state_, options))).id;
}

sequence_id scheduler::resume(const sequence_options& options, const resume_state& history) {
  auto added = make_sequence(*state_, options, allowed_length(*state_, options));
  give_past(added, history);
  sequence& seq = accepted(*state_, std::move(added));
  try {
    accept_snapshot(*state_, seq);
  } catch (...) {
    forget(*state_, seq);
    throw;
  }
  return seq.id;
}

sequence_id scheduler::fork(sequence_id id) {
  const sequence& parent = idle_one(*state_, id);
  sequence copied;
  copied.options = parent.options;
  copied.capacity = parent.capacity;
  copied.tokens = parent.tokens;
  copied.sampled = parent.sampled;
  copied.exact = parent.exact;
  copied.runs_ahead = parent.runs_ahead;
  sequence& child = accepted(*state_, std::move(copied));
  try {
    admit_beside(*state_, child, parent);
  } catch (...) {
    forget(*state_, child);
    throw;
  }
  return child.id;
}

void scheduler::truncate(sequence_id id, int length) {
  sequence& seq = idle_one(*state_, id);
  if (length < 0 || length > seq.length())
    throw std::invalid_argument(name(id) + " of " + std::to_string(seq.length()) + " tokens cannot be cut to " +
                                std::to_string(length));
  seq.keep(length);
  make_idle(*state_, seq);
}

void scheduler::suspend(sequence_id id) {
  auto* const seq = find(state_->sequences, id);
  if (seq && !seq->running && seq->slot >= 0 && !seq->in_transfer()) cogen::scheduler::preempt(*state_, *seq);
}

std::optional<kept_snapshot> scheduler::copy_out(sequence_id id) {
  auto* const seq = find(state_->sequences, id);
  if (!seq || seq->running || seq->slot < 0 || seq->in_transfer()) return std::nullopt;
  return cogen::scheduler::copy_out(*state_, *seq);
}

void scheduler::cancel(sequence_id id) {
  if (auto* seq = find(state_->sequences, id)) forget(*state_, *seq);
}

// Runs

void scheduler::start(sequence_id id, run next) {
  sequence& seq = idle_one(*state_, id);
  seq.check(next);
  begin(*state_, seq, std::move(next));
  state_->queued.place(seq);
}

void scheduler::grant(sequence_id id, int credits) {
  not_negative("credits", credits);
  auto* const seq = find(state_->sequences, id);
  if (!seq || !seq->running) return;
  seq->current.credits += credits;
  seq->current.last_asked = ++state_->asked;
  if (seq->where == phase::paused) state_->queued.place(*seq);
}

void scheduler::propose(sequence_id id, std::vector<token> drafts, bool only_if_faster) {
  auto* const seq = find(state_->sequences, id);
  const bool samples = seq && seq->running && seq->current.wanted == output::sample;
  if (!samples || seq->current.unknown > 0 || seq->remaining() == 0) return;
  seq->drafts = std::move(drafts);
  seq->only_if_faster = only_if_faster;
  state_->has_drafts |= only_if_faster;
}

void scheduler::run_ahead(sequence_id id, bool allowed) {
  if (auto* const seq = find(state_->sequences, id)) seq->runs_ahead = allowed && state_->within.run_ahead;
}

void scheduler::abandon(sequence_id id) {
  auto* const seq = find(state_->sequences, id);
  if (!seq || !seq->running) return;
  seq->undo();
  seq->end();
  make_idle(*state_, *seq);
}

// Steps

void scheduler::advance_clock(time now) { state_->now = std::max(state_->now, now); }

step scheduler::next(time now) {
  step plan;
  next(now, plan);
  return plan;
}

void scheduler::next(time now, step& plan) {
  state& sched = *state_;
  if (std::cmp_greater_equal(sched.in_flight.size(), sched.within.depth))
    throw std::logic_error(std::to_string(sched.in_flight.size()) + " steps are unabsorbed, as many as there may be");
  sched.breach.check();
  advance_clock(now);
  sched.queued.see(sched.now);
  plan.clear();
  plan.number = sched.plans + 1;
  auto& record = fresh_record(sched, plan.number);
  bool lost = true;
  while (lost && plan.rows.empty()) {
    sched.slots.release_unread();
    grow(sched);
    admit(sched);
    join_leaders(sched);
    lost = build_batch(sched, plan, record);
  }
  sched.breach.check();
  sched.measured.planned(sched.now, record.tokens, sched.queued.left_behind(plan.number));
  sched.slots.settle(plan);
  sched.swapped_out.settle(plan);
  if (plan.empty()) return plan.clear();
  ++sched.plans;
  sched.in_flight.splice(sched.in_flight.end(), sched.absorbed, sched.absorbed.begin());
}

std::optional<time> scheduler::wake() const { return next_to_preempt(*state_); }

std::span<const event> scheduler::absorb(step& done, std::chrono::nanoseconds took) {
  state& sched = *state_;
  done.events.clear();
  if (done.empty()) return {};
  if (sched.in_flight.empty() || done.number != sched.in_flight.front().number)
    throw std::logic_error("step " + std::to_string(done.number) + " is not the oldest unabsorbed one");
  if (done.rows.size() != sched.in_flight.front().rows.size())
    throw std::invalid_argument("a step of " + std::to_string(sched.in_flight.front().rows.size()) +
                                " rows came back with " + std::to_string(done.rows.size()));
  check_late_rows(sched, sched.in_flight.front(), done);
  sched.absorbed.splice(sched.absorbed.begin(), sched.in_flight, sched.in_flight.begin());
  const auto& record = sched.absorbed.front();
  sched.slots.absorbed(record.number);
  if (took.count() > 0 && record.tokens > 0) learn(sched, record, took);
  for (const auto& each : done.checkpoints)
    if (each.failed) sched.slots.forget_checkpoint(each.slot, each.length);
  absorb_results(sched, record, done);
  return done.events;
}

std::vector<event> scheduler::absorb(const late_sample& sample) { return absorb_late(*state_, sample); }

swap_end scheduler::on_swap_done(swap_id name, bool ok) {
  state& sched = *state_;
  const transfer ended = sched.swapped_out.end(name, ok);
  sched.slots.end_transfer(ended.slot, ended.is_in && !ok);
  if (ended.is_in && !ok && sched.slots[ended.slot].kept) lose_prefix(sched, ended.slot);
  auto* const seq = find(sched.sequences, ended.sequence);
  const bool is_current = seq && seq->swapped && seq->swapped->name == name;
  if (is_current) end_swap(sched, *seq, ok);
  return {ended.sequence, ended.length, ended.is_in, ended.is_copy, is_current};
}

std::optional<transition> scheduler::next_transition() noexcept { return state_->changes.next(); }

std::vector<cached_prefix> scheduler::copy_out_prefixes() { return cogen::scheduler::copy_out_prefixes(*state_); }

std::optional<swap_id> scheduler::restore_prefix(const cached_prefix& prefix) {
  return cogen::scheduler::restore_prefix(*state_, prefix);
}

int scheduler::cached_prefix_length(const cache_salt& salt, std::span<const token> tokens) const {
  if (!state_->within.prefix_caching || tokens.empty()) return 0;
  return find_shareable(*state_, salt, tokens.first(tokens.size() - 1));
}

shareable_prefix scheduler::shareable(int slot) const noexcept { return shareable_prefix_of(*state_, slot); }

void scheduler::drop_prefix_cache() {
  while (state_->slots.evict()) {
  }
}

// Queries

const token_list& scheduler::tokens(sequence_id id) const { return known(state_->sequences, id).tokens; }
bool scheduler::idle(sequence_id id) const { return !known(state_->sequences, id).running; }
phase scheduler::phase_of(sequence_id id) const { return known(state_->sequences, id).where; }
bool scheduler::scheduled(sequence_id id) const { return known(state_->sequences, id).slot >= 0; }
bool scheduler::is_swapping_out(sequence_id id) const {
  const auto& swapped = known(state_->sequences, id).swapped;
  return swapped && swapped->current_stage == cogen::scheduler::swap_state::stage::swapping_out;
}
bool scheduler::awaits_prefix(sequence_id id) const { return known(state_->sequences, id).awaits_prefix.has_value(); }
int scheduler::reserved(sequence_id id) const {
  const sequence& seq = known(state_->sequences, id);
  return seq.slot >= 0 ? seq.reserved : 0;
}
bool scheduler::short_of_memory(sequence_id id) const { return is_short(known(state_->sequences, id)); }
int scheduler::prefix_hit_tokens(sequence_id id) const { return known(state_->sequences, id).prefix_hit_tokens; }
std::uint64_t scheduler::prefix_hit_tokens() const { return state_->prefix_hit_tokens; }
bool scheduler::in_transfer(sequence_id id) const { return known(state_->sequences, id).in_transfer(); }
bool scheduler::exact(sequence_id id) const { return known(state_->sequences, id).exact; }
std::optional<kept_snapshot> scheduler::stored(sequence_id id) const {
  const sequence& seq = known(state_->sequences, id);
  return seq.cached > 0 && seq.swapped && !seq.in_transfer() ? std::optional(snapshot_of(seq)) : std::nullopt;
}
std::uint64_t scheduler::draft_tokens() const { return state_->draft_tokens; }
std::uint64_t scheduler::accepted_drafts() const { return state_->accepted_drafts; }
int scheduler::slot_of(sequence_id id) const {
  const auto* const seq = find(state_->sequences, id);
  return seq ? seq->slot : -1;
}
int scheduler::live() const { return static_cast<int>(state_->sequences.size()); }
int scheduler::waiting() const { return state_->queued.waiting.size(); }
std::uint64_t scheduler::preempted() const { return state_->preempted; }
std::uint64_t scheduler::swapped_out() const { return state_->swapped_out.swapped_out(); }
int scheduler::free_slots() const { return state_->slots.free(); }
int scheduler::prefix_cached_slots() const { return state_->slots.kept(); }
std::int64_t scheduler::prefix_cached_bytes() const { return state_->slots.prefix_cached_bytes(); }
std::int64_t scheduler::memory_in_use() const { return state_->slots.memory_in_use(); }
std::int64_t scheduler::swap_in_use() const { return state_->swapped_out.in_use(); }
void scheduler::verify() const { cogen::scheduler::verify(*state_); }

}  // namespace cogen::scheduler
