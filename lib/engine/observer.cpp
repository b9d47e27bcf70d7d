#include "engine/observer.hpp"

#include "engine/failure_of.hpp"
#include "engine/participant.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

int tokens_of(const scheduler::plan& plan) {
  int tokens = 0;
  for (const auto& row : plan.rows) tokens += row.count;
  return tokens;
}

bool prefills(const participant& whose, const scheduler::row& row) {
  return whose.past().prefills(row.count, row.wanted != scheduler::output::nothing);
}

}  // namespace

// What driver and participants do

void observer::joined(participant& whose, scheduler::sequence_id id, clock::time_point now) noexcept {
  const auto tokens = static_cast<int>(plans_.tokens(id).size());
  whose.past().take_in(now, tokens);
  stats_.waiting_tokens += tokens;
  tell(kind::taken_in, whose, now, tokens);
  look_at_parked(now);
  const int slot = plans_.slot_of(id);
  if (slot < 0) return;
  seat(whose, slot, now);
  whose.past().inherit();
}

void observer::look_at(participant& whose) noexcept {
  const auto news = whose.past().untold();
  if (news.brought) tell(kind::first_token, whose, *news.brought);
  if (news.refused) ++stats_.refused, tell(kind::refused, whose, *news.refused);
  if (news.ended) end(whose, news);
}

void observer::look_at_parked(clock::time_point now) noexcept {
  if (plans_.parked() != parkings_) look_at_all(now);
}

void observer::end(participant& whose, const chronicle::news& how) noexcept {
  if (how.before == chronicle::place::waiting) stats_.waiting_tokens -= whose.past().tokens();
  if (how.before == chronicle::place::running) --stats_.seated;
  if (how.before == chronicle::place::parked) --parked_;
  const bool failed = whose.reason() == finish_reason::failed;
  if (how.how == chronicle::ending::cancelled)
    ++stats_.cancelled, tell(kind::cancelled, whose, *how.ended);
  else if (failed && how.before == chronicle::place::outside)
    ++stats_.refused, tell(kind::refused, whose, *how.ended);
  else
    ++(failed ? stats_.failed : stats_.finished), tell(kind::finished, whose, *how.ended);
}

// What plans do

void observer::launched(step_in_flight& step, int waited, clock::time_point now) noexcept {
  const auto& plan = step.plan();
  look_at_parked(now);
  int seated = 0;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) seated += seat(step.owner_of(i), plan.rows[i].slot, now);
  if (seated < waited - plans_.waiting()) look_at_all(now);  // some have a slot and no row yet
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
                .parked = parked_,
                .cache_bytes = bytes};
}

void observer::transfer(const scheduler::plan& plan, clock::time_point now) noexcept {
  for (const auto& each : plan.spills)
    if (!each.beside) begin(kind::spilling, each.name, each.sequence, each.length, now);
  for (const auto& each : plan.restores) begin(kind::restoring, each.name, each.sequence, each.length, now);
}

void observer::begin(kind what, scheduler::ticket name, scheduler::sequence_id whose, int tokens,
                     clock::time_point now) noexcept {
  const auto found = members_.find(whose);
  if (found == members_.end()) return;
  moving_.push_back({name, whose, what, tokens});
  tell(what, *found->second, now, tokens);
}

void observer::transferred(scheduler::ticket name, const std::exception_ptr& error, clock::time_point now) noexcept {
  const auto ended = std::ranges::find(moving_, name, &moving::name);
  if (ended == moving_.end()) return;
  const auto found = members_.find(ended->whose);
  const auto what = ended->what == kind::spilling ? kind::spilled : kind::restored;
  if (found != members_.end()) tell(what, *found->second, now, ended->tokens, error ? failure_of(error) : failure());
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

void observer::serve(participant& whose, const scheduler::row& row, const step_event& step) noexcept {
  const bool prefilled = prefills(whose, row);
  const bool fed_all = row.wanted != scheduler::output::nothing;
  if (!whose.past().serve({step.begin, step.end, step.number, prefilled, fed_all}) || !prefilled) return;
  tell(kind::prefilled, whose, step.end, row.count);
}

bool observer::seat(participant& whose, int slot, clock::time_point now) noexcept {
  const auto before = whose.past().sit(slot, now);
  if (!before) return false;
  if (before == chronicle::place::waiting) stats_.waiting_tokens -= whose.past().tokens();
  if (before == chronicle::place::parked) --parked_;
  stats_.seated += before != chronicle::place::running;
  tell(before == chronicle::place::parked ? kind::resumed : kind::seated, whose, now);
  return before != chronicle::place::running;
}

void observer::look_at_all(clock::time_point now) noexcept {
  parkings_ = plans_.parked();
  for (const auto& [id, member] : members_)
    if (plans_.slot_of(id) < 0) park(*member, now);
  for (const auto& [id, member] : members_)
    if (const int slot = plans_.slot_of(id); slot >= 0) seat(*member, slot, now);
}

void observer::park(participant& whose, clock::time_point now) noexcept {
  if (!whose.past().park(now)) return;
  --stats_.seated;
  ++parked_;
  tell(kind::parked, whose, now);
}

// What everybody may know

void observer::count(const scheduler::plan& plan, std::int64_t bytes) noexcept {
  ++stats_.steps;
  stats_.rows += plan.rows.size();
  stats_.tokens += static_cast<std::uint64_t>(tokens_of(plan));
  for (const auto& row : plan.rows) stats_.sampled += row.wanted == scheduler::output::sample;
  stats_.peak_rows = std::max(stats_.peak_rows, static_cast<int>(plan.rows.size()));
  stats_.peak_cache_bytes = std::max(stats_.peak_cache_bytes, bytes);
}

std::int64_t observer::cache_bytes() const noexcept { return plans_.memory_in_use() - plans_.kept_bytes(); }

engine_stats observer::stats() noexcept {
  stats_.sequences = plans_.live();
  stats_.waiting = plans_.waiting();
  stats_.parked = plans_.parked();
  stats_.spilled = plans_.spilled();
  stats_.spill_bytes = plans_.spill_in_use();
  stats_.free_slots = plans_.free_slots();
  stats_.reused = plans_.reused();
  stats_.kept_slots = plans_.kept_slots();
  stats_.kept_bytes = plans_.kept_bytes();
  stats_.cache_bytes = plans_.memory_in_use() - stats_.kept_bytes;
  stats_.peak_waiting = std::max(stats_.peak_waiting, stats_.waiting);
  return stats_;
}

void observer::ended(const failure& why, clock::time_point now) noexcept {
  tell_sink([&](event_sink& sink) { sink.on_end(why, now); });
  sink_.reset();
}

void observer::tell(kind what, const participant& whose, clock::time_point at, int tokens,
                    const failure& why) noexcept {
  tell_sink([&](event_sink& sink) {
    const auto& past = whose.past();
    const bool failed = what == kind::refused || (what == kind::finished && whose.reason() == finish_reason::failed);
    sink.on_sequence({.what = what,
                      .id = past.id(),
                      .at = at,
                      .slot = past.slot(),
                      .tokens = tokens,
                      .step = past.step(),
                      .reason = whose.reason(),
                      .error = failed ? whose.error() : why,
                      .usage = whose.usage(),
                      .timeline = past.times(at)});
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
