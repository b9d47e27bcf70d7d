#include "engine/observer.hpp"

#include "engine/diagnostics_of.hpp"
#include "engine/request_state.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

int tokens_of(const scheduler::step& plan) {
  int tokens = 0;
  for (const auto& row : plan.rows) tokens += row.count;
  return tokens;
}

bool prefills(const request_state& seq, const scheduler::row& row) {
  return seq.metrics().prefills(row.count, row.wanted != scheduler::output::nothing);
}

}  // namespace

// Events of the loop and of requests

void observer::joined(request_state& seq, scheduler::sequence_id id, clock::time_point now) noexcept {
  const auto tokens = static_cast<int>(plans_.tokens(id).size());
  seq.metrics().accept(now, tokens);
  stats_.waiting_tokens += tokens;
  tell(kind::accepted, seq, now, tokens);
  look_at_slots(now);
  if (plans_.slot_of(id) >= 0) seq.metrics().inherit();
}

void observer::look_at(request_state& seq) noexcept {
  const auto news = seq.metrics().untold();
  if (news.brought) tell(kind::first_token, seq, *news.brought);
  if (news.refused) ++stats_.refused, tell(kind::refused, seq, *news.refused);
  if (news.ended) end(seq, news);
}

void observer::look_at_slots(clock::time_point now) noexcept {
  while (const auto change = plans_.next_slot_change()) {
    const auto found = members_.find(change->sequence);
    if (found == members_.end()) continue;
    if (change->preempted) preempt(*found->second, now);
    if (change->slot >= 0) schedule(*found->second, change->slot, now);
  }
}

void observer::end(request_state& seq, const metrics_recorder::news& how) noexcept {
  if (how.before == metrics_recorder::place::waiting) stats_.waiting_tokens -= seq.metrics().tokens();
  if (how.before == metrics_recorder::place::running) --stats_.scheduled;
  if (how.before == metrics_recorder::place::preempted) --preempted_;
  const bool failed = seq.reason() == finish_reason::failed;
  if (how.how == metrics_recorder::ending::cancelled)
    ++stats_.cancelled, tell(kind::cancelled, seq, *how.ended);
  else if (failed && how.before == metrics_recorder::place::outside)
    ++stats_.refused, tell(kind::refused, seq, *how.ended);
  else
    ++(failed ? stats_.failed : stats_.finished), tell(kind::finished, seq, *how.ended);
}

// Events of plans

void observer::launched(step_in_flight& step, clock::time_point now) noexcept {
  const auto& plan = step.plan();
  look_at_slots(now);
  transfer(plan, now);
  if (plan.rows.empty()) return;
  const auto bytes = cache_bytes();
  count(plan, bytes);
  step.event = {.number = stats_.steps,
                .begin = now,
                .rows = static_cast<int>(plan.rows.size()),
                .tokens = tokens_of(plan),
                .slots_in_use = slots_ - plans_.free_slots(),
                .waiting = plans_.waiting(),
                .preempted = preempted_,
                .cache_bytes = bytes};
}

void observer::transfer(const scheduler::step& plan, clock::time_point now) noexcept {
  for (const auto& each : plan.swap_outs)
    if (!each.beside) begin(kind::swapping_out, each.name, each.sequence, each.length, now);
  for (const auto& each : plan.swap_ins) begin(kind::swapping_in, each.name, each.sequence, each.length, now);
}

void observer::begin(kind what, scheduler::swap_id name, scheduler::sequence_id seq, int tokens,
                     clock::time_point now) noexcept {
  const auto found = members_.find(seq);
  if (found == members_.end()) return;
  moving_.push_back({name, seq, what, tokens});
  tell(what, *found->second, now, tokens);
}

void observer::transferred(scheduler::swap_id name, const std::exception_ptr& error, clock::time_point now) noexcept {
  const auto ended = std::ranges::find(moving_, name, &moving::name);
  if (ended == moving_.end()) return;
  const auto found = members_.find(ended->seq);
  const auto what = ended->what == kind::swapping_out ? kind::swapped_out : kind::swapped_in;
  if (found != members_.end())
    tell(what, *found->second, now, ended->tokens, error ? diagnostics_of(error) : diagnostics());
  moving_.erase(ended);
}

void observer::ended(step_in_flight& step, clock::time_point now) noexcept {
  const auto& rows = step.plan().rows;
  if (rows.empty()) return;
  step.event.end = now;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (prefills(step.owner_of(i), rows[i])) step.event.prefilled += rows[i].count;
  tell_sink([&](event_sink& sink) { sink.on_step(step.event); });
  for (std::size_t i = 0; i < rows.size(); ++i) serve(step.owner_of(i), rows[i], step.event);
}

void observer::serve(request_state& seq, const scheduler::row& row, const step_event& step) noexcept {
  const bool prefilled = prefills(seq, row);
  const bool fed_all = row.wanted != scheduler::output::nothing;
  if (!seq.metrics().serve({step.begin, step.end, step.number, prefilled, fed_all}) || !prefilled) return;
  tell(kind::prefilled, seq, step.end, row.count);
}

void observer::schedule(request_state& seq, int slot, clock::time_point now) noexcept {
  const auto before = seq.metrics().schedule(slot, now);
  if (!before) return;
  if (before == metrics_recorder::place::waiting) stats_.waiting_tokens -= seq.metrics().tokens();
  if (before == metrics_recorder::place::preempted) --preempted_;
  stats_.scheduled += before != metrics_recorder::place::running;
  tell(before == metrics_recorder::place::preempted ? kind::resumed : kind::scheduled, seq, now);
}

void observer::preempt(request_state& seq, clock::time_point now) noexcept {
  if (!seq.metrics().preempt(now)) return;
  --stats_.scheduled;
  ++preempted_;
  tell(kind::preempted, seq, now);
}

// Statistics and the event sink

void observer::count(const scheduler::step& plan, std::int64_t bytes) noexcept {
  ++stats_.steps;
  stats_.rows += plan.rows.size();
  stats_.tokens += static_cast<std::uint64_t>(tokens_of(plan));
  for (const auto& row : plan.rows) stats_.sampled += row.wanted == scheduler::output::sample;
  stats_.peak_rows = std::max(stats_.peak_rows, static_cast<int>(plan.rows.size()));
  stats_.peak_cache_bytes = std::max(stats_.peak_cache_bytes, bytes);
}

std::int64_t observer::cache_bytes() const noexcept { return plans_.memory_in_use() - plans_.prefix_cached_bytes(); }

engine_stats observer::stats() noexcept {
  stats_.sequences = plans_.live();
  stats_.waiting = plans_.waiting();
  stats_.preempted = plans_.preempted();
  stats_.swapped_out = plans_.swapped_out();
  stats_.swap_bytes = plans_.swap_in_use();
  stats_.free_slots = plans_.free_slots();
  stats_.prefix_hit_tokens = plans_.prefix_hit_tokens();
  stats_.prefix_cached_slots = plans_.prefix_cached_slots();
  stats_.prefix_cached_bytes = plans_.prefix_cached_bytes();
  stats_.cache_bytes = plans_.memory_in_use() - stats_.prefix_cached_bytes;
  stats_.peak_waiting = std::max(stats_.peak_waiting, stats_.waiting);
  return stats_;
}

void observer::ended(const diagnostics& why, clock::time_point now) noexcept {
  tell_sink([&](event_sink& sink) { sink.on_end(why, now); });
  sink_.reset();
}

void observer::tell(kind what, const request_state& seq, clock::time_point at, int tokens,
                    const diagnostics& why) noexcept {
  tell_sink([&](event_sink& sink) {
    const auto& past = seq.metrics();
    const bool failed = what == kind::refused || (what == kind::finished && seq.reason() == finish_reason::failed);
    sink.on_sequence({.what = what,
                      .id = past.id(),
                      .at = at,
                      .slot = past.slot(),
                      .tokens = tokens,
                      .step = past.step(),
                      .reason = seq.reason(),
                      .error = failed ? seq.error() : why,
                      .usage = seq.usage(),
                      .request_metrics = past.times(at)});
  });
}

template <class Call>
void observer::tell_sink(Call call) noexcept try {
  if (sink_) call(*sink_);
} catch (...) {
  sink_.reset();
  log_("the event sink threw and is told no more", std::current_exception());
}

}  // namespace cogen::detail
