#include "engine/engine_metrics.hpp"

#include "engine/runner/diagnostics_of.hpp"

#include <algorithm>

namespace cogen::detail {

using scheduler::status;

request_state* engine_metrics::find(scheduler::sequence_id id) const noexcept {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : found->second.get();
}

// Requests

void engine_metrics::accepted(request_state& request, scheduler::sequence_id id, clock::time_point now) noexcept {
  const auto tokens = static_cast<int>(plans_.tokens(id).size());
  request.timeline().accept(now, tokens);
  stats_.waiting_tokens += tokens;
  notify(kind::accepted, request, now, tokens);
  take_transitions(now);
}

void engine_metrics::take_transitions(clock::time_point now) noexcept {
  while (const auto next = plans_.next_transition()) {
    auto* const request = find(next->sequence);
    if (!request || !request->timeline().record(*next, now)) continue;
    count(*next, request->timeline());
    notify(next->current == status::preempted    ? kind::preempted
           : next->previous == status::preempted ? kind::resumed
                                                 : kind::scheduled,
           *request, now);
  }
}

void engine_metrics::take_report(request_state& request) noexcept {
  const auto report = request.timeline().take_report();
  if (report.first_token) notify(kind::first_token, request, *report.first_token);
  if (report.refused) {
    ++stats_.refused;
    notify(kind::refused, request, *report.refused);
  }
  if (!report.ended) return;
  count_end(report, request);
  const bool is_refused = request.reason() == finish_reason::failed && !report.previous;
  notify(report.outcome == request_timeline::ending::cancelled ? kind::cancelled
         : is_refused                                          ? kind::refused
                                                               : kind::finished,
         request, *report.ended);
}

void engine_metrics::count(const scheduler::transition& change, const request_timeline& timeline) noexcept {
  if (change.previous == status::waiting) stats_.waiting_tokens -= timeline.tokens();
  stats_.scheduled += (change.current == status::running) - (change.previous == status::running);
  preempted_ += (change.current == status::preempted) - (change.previous == status::preempted);
}

void engine_metrics::count_end(const request_timeline::report& report, const request_state& request) noexcept {
  if (report.previous == status::waiting) stats_.waiting_tokens -= request.timeline().tokens();
  stats_.scheduled -= report.previous == status::running;
  preempted_ -= report.previous == status::preempted;
  if (report.outcome == request_timeline::ending::cancelled)
    ++stats_.cancelled;
  else if (request.reason() != finish_reason::failed)
    ++stats_.finished;
  else
    ++(report.previous ? stats_.failed : stats_.refused);
}

// Steps and swaps

void engine_metrics::planned(step_in_flight& step, clock::time_point now) noexcept {
  take_transitions(now);
  for (const auto& each : step.swap_outs)
    if (!each.is_copy) notify(kind::swapping_out, each.sequence, now, each.length);
  for (const auto& each : step.swap_ins) notify(kind::swapping_in, each.sequence, now, each.length);
  if (step.rows.empty()) return;
  step.event = {.number = stats_.steps + 1,
                .begin = now,
                .rows = static_cast<int>(step.rows.size()),
                .slots_in_use = slots_ - plans_.free_slots(),
                .waiting = plans_.waiting(),
                .preempted = preempted_,
                .cache_bytes = plans_.memory_in_use() - plans_.prefix_cached_bytes()};
  for (const auto& row : step.rows) {
    step.event.tokens += row.count;
    if (row.prefill) step.event.prefilled += row.count;
    stats_.sampled += row.wanted == scheduler::output::sample;
  }
  count(step.event);
}

void engine_metrics::executed(step_in_flight& step, clock::time_point now) noexcept {
  if (step.rows.empty()) return;
  step.event.end = now;
  notify_sink([&](event_sink& sink) { sink.on_step(step.event); });
  for (std::size_t i = 0; i < step.rows.size(); ++i) {
    const auto& row = step.rows[i];
    auto* const request = step.request_of(i);
    if (!request || !request->timeline().record(step.event, row.prefill) || !row.prefill) continue;
    request->prefilled(row.position + row.count, step.event.end);
    notify(kind::prefilled, *request, step.event.end, row.count);
  }
}

void engine_metrics::swapped(const scheduler::swap_end& swap, const std::exception_ptr& error,
                             clock::time_point now) noexcept {
  if (swap.is_copy) return;
  notify(swap.swap_in ? kind::swapped_in : kind::swapped_out, swap.sequence, now, swap.length,
         error ? diagnostics_of(error) : diagnostics());
}

// Statistics and the event sink

void engine_metrics::count(const step_event& step) noexcept {
  stats_.steps = step.number;
  stats_.rows += static_cast<std::uint64_t>(step.rows);
  stats_.tokens += static_cast<std::uint64_t>(step.tokens);
  stats_.peak_rows = std::max(stats_.peak_rows, step.rows);
  stats_.peak_cache_bytes = std::max(stats_.peak_cache_bytes, step.cache_bytes);
}

engine_stats engine_metrics::stats() noexcept {
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
  stats_.draft_tokens = plans_.draft_tokens();
  stats_.accepted_draft_tokens = plans_.accepted_drafts();
  auto result = stats_;
  result.sampled += result.accepted_draft_tokens;
  return result;
}

void engine_metrics::ended(const diagnostics& why, clock::time_point now) noexcept {
  notify_sink([&](event_sink& sink) { sink.on_end(why, now); });
  sink_.reset();
}

void engine_metrics::notify(kind type, scheduler::sequence_id id, clock::time_point time, int tokens,
                            const diagnostics& why) noexcept {
  if (const auto* const request = find(id)) notify(type, *request, time, tokens, why);
}

void engine_metrics::notify(kind type, const request_state& request, clock::time_point time, int tokens,
                            const diagnostics& why) noexcept {
  notify_sink([&](event_sink& sink) {
    const auto& timeline = request.timeline();
    const bool failed = type == kind::refused || (type == kind::finished && request.reason() == finish_reason::failed);
    sink.on_sequence({.type = type,
                      .id = timeline.id(),
                      .time = time,
                      .slot = timeline.slot(),
                      .tokens = tokens,
                      .step = timeline.step(),
                      .reason = request.reason(),
                      .error = failed ? request.error() : why,
                      .usage = request.usage(),
                      .request_metrics = timeline.times(time)});
  });
}

template <class Call>
void engine_metrics::notify_sink(Call call) noexcept try {
  if (sink_) call(*sink_);
} catch (...) {
  sink_.reset();
  log_("the event sink threw and was released", std::current_exception());
}

}  // namespace cogen::detail
