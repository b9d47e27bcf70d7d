#include "metrics/meter.hpp"

#include <algorithm>
#include <utility>

namespace server::metrics {
namespace {

double seconds(cogen::clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

meter::meter(int slots, std::shared_ptr<cogen::event_sink> trace) : trace_(std::move(trace)) {
  counts_.slots.resize(static_cast<std::size_t>(slots));
}

counts meter::now() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void meter::begin_texts(std::size_t texts) {
  const std::lock_guard lock(mutex_);
  counts_.running_texts += texts;
}

void meter::end_texts(std::size_t texts, std::size_t tokens, std::chrono::nanoseconds took) {
  const std::lock_guard lock(mutex_);
  counts_.running_texts -= texts;
  counts_.texts += texts;
  counts_.text_tokens += tokens;
  counts_.total.add(seconds(took));
}

void meter::fail_texts(std::size_t texts) {
  const std::lock_guard lock(mutex_);
  counts_.running_texts -= texts;
}

void meter::on_step(const cogen::step_event& step) {
  {
    const std::lock_guard lock(mutex_);
    counts_.prefilled_tokens += static_cast<std::uint64_t>(step.prefilled);
    (step.prefilled == step.tokens ? counts_.prefill_seconds : counts_.decode_seconds) +=
        seconds(step.end - step.begin);
  }
  if (trace_) trace_->on_step(step);
}

void meter::on_sequence(const cogen::sequence_event& event) {
  using kind = cogen::sequence_event::kind;
  {
    const std::lock_guard lock(mutex_);
    if (event.type == kind::scheduled || event.type == kind::resumed)
      enter(event);
    else if (event.type == kind::preempted)
      leave(event.id);
    else if (event.type == kind::cancelled || event.type == kind::finished)
      count_end(event);
  }
  if (trace_) trace_->on_sequence(event);
}

void meter::on_end(const cogen::diagnostics& why, cogen::clock::time_point time) {
  if (trace_) trace_->on_end(why, time);
}

void meter::count_end(const cogen::sequence_event& event) {
  leave(event.id);
  const bool cancelled = event.type == cogen::sequence_event::kind::cancelled;
  ++counts_.finished[static_cast<std::size_t>(cancelled ? cogen::finish_reason::aborted : event.reason)];
  const auto& times = event.request_metrics;
  const auto held = static_cast<std::uint64_t>(event.usage.prompt_tokens + event.usage.generated_tokens);
  counts_.largest_sequence = std::max(counts_.largest_sequence, held);
  if (times.scheduled) counts_.queued.add(seconds(times.waiting));
  if (cancelled || !times.first_token) return;
  counts_.first_token.add(seconds(*times.first_token - times.opened));
  counts_.total.add(seconds(event.time - times.opened));
  if (const int gaps = event.usage.generated_tokens - 1; gaps > 0 && times.last_token)
    counts_.inter_token.add(seconds(*times.last_token - *times.first_token) / gaps, static_cast<std::uint64_t>(gaps));
}

slot_state* meter::place_of(std::uint64_t sequence) {
  const auto found = std::ranges::find_if(
      counts_.slots, [&](const slot_state& slot) { return slot.busy && slot.sequence == sequence; });
  return found == counts_.slots.end() ? nullptr : &*found;
}

void meter::enter(const cogen::sequence_event& event) {
  if (place_of(event.id)) return;
  const auto idle = std::ranges::find(counts_.slots, false, &slot_state::busy);
  if (idle != counts_.slots.end()) *idle = {true, event.id};
}

void meter::leave(std::uint64_t sequence) {
  if (auto* place = place_of(sequence)) *place = {};
}

}  // namespace server::metrics
