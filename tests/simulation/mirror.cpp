#include "simulation/mirror.hpp"

#include <algorithm>
#include <stdexcept>

namespace cogen::scheduler::simulate {

void mirror::begin(const run& next, std::uint64_t run_number) {
  unserved = 0;
  running = true;
  number = run_number;
  displaced_at = 0;
  wanted = next.wanted;
  credits = next.credits;
  samples = next.samples;
  length_before_ = static_cast<int>(tokens.size());
  sampled_before_ = sampled;
  tokens.insert(tokens.end(), next.tokens.begin(), next.tokens.end());
  length_fed_ = static_cast<int>(tokens.size());
  reported_to_ = length_before_;
  reached = std::min(reached, length_fed_ - 1);
  samples_none_ = wanted == output::sample && room() == 0;
}

std::int64_t mirror::room() const {
  const auto held = static_cast<std::int64_t>(tokens.size() + ahead.size());
  const auto taken = sampled + static_cast<std::int64_t>(ahead.size());
  return std::min(capacity - held, options.max_new_tokens - taken);
}

void mirror::abandon() {
  tokens.resize(static_cast<std::size_t>(length_before_));
  sampled = sampled_before_;
  make_idle();
}

void mirror::truncate(int length) {
  tokens.resize(static_cast<std::size_t>(length));
  make_idle();
}

void mirror::make_idle() {
  running = awaits_sample = late = false;
  ahead.clear();
  drafts.clear();
  reached = std::min(reached, static_cast<int>(tokens.size()));
  scheduled &= reached > 0;
  if (reached == 0) away.reset();
}

std::int64_t mirror::samples_left() const {
  return wanted == output::sample && !samples_none_ ? std::min(samples, room()) : 0;
}

std::vector<token> mirror::with_ahead() const {
  auto result = tokens;
  result.insert(result.end(), ahead.begin(), ahead.end());
  return result;
}

output mirror::wanted_at(int end) const {
  const bool last = end == static_cast<int>(tokens.size() + ahead.size());
  if (wanted == output::all_logits) return wanted;
  return last && !samples_none_ ? wanted : output::nothing;
}

bool mirror::may_run() const {
  if (!running || awaits_sample) return false;
  return wanted != output::sample || samples_none_ || (credits > 0 && samples > 0 && room() > 0);
}

void mirror::planned_sample(const row& planned, token chosen) {
  --credits;
  --samples;
  awaits_sample = planned.drafts > 0 || !runs_ahead;
  if (!awaits_sample) ahead.push_back(chosen);
  drafts.clear();
}

std::vector<event> mirror::absorb(const step& done, const row& row, int end, const toy::model& model, coverage& seen) {
  const int begin = end + row.drafts - row.count;
  if (row.failed) return fail(begin, seen);
  if (row.late) {
    seen.visit(row.drafts > 0 ? feature::late_after_draft : feature::late);
    ahead.clear();
    awaits_sample = late = true;
    late_in = done.number;
    return {};
  }
  if (row.wanted == output::sample) return absorb_samples(done, row, model, seen);
  const bool last = end == static_cast<int>(tokens.size());
  if (row.wanted != output::nothing) {
    seen.visit(last ? feature::last_logits : feature::logits);
    if (wanted == output::all_logits && begin > reported_to_)
      throw std::logic_error("logits of its tokens are missing");
    reported_to_ = std::max(reported_to_, end);
    if (last) make_idle();
    return {{.type = event::kind::logits, .sequence = row.sequence, .last = last}};
  }
  seen.visit(last ? feature::no_room : feature::chunk);
  if (!last) return {};
  make_idle();
  return {{.type = event::kind::finished, .sequence = row.sequence, .reason = finish::length}};
}

std::vector<event> mirror::absorb_late(const late_sample& sample, int begin, const toy::model& model, coverage& seen) {
  late = false;
  if (sample.failed) {
    seen.visit(feature::late_failed);
    return fail(begin, seen);
  }
  step alone;
  alone.sampled = {sample.sampled};
  return absorb_samples(alone, {}, model, seen);
}

/// Token by token as without drafts, as far as they were right and the row has sampled.
std::vector<event> mirror::absorb_samples(const step& done, const row& row, const toy::model& model, coverage& seen) {
  awaits_sample = false;
  std::vector<event> received;
  token chosen = done.sampled_of(row);
  for (int taken = 0;; ++taken) {
    if (chosen != model.next(tokens, encoder_input()))
      throw std::logic_error("it sampled what it would not have sampled alone");
    const auto index = static_cast<std::size_t>(taken);
    const bool accepted = taken < row.drafts && done.drafts_of(row)[index] == chosen;
    const token next = accepted ? done.sampled_of(row, taken + 1) : -1;
    if (taken < row.drafts) seen.visit(accepted ? feature::draft_accepted : feature::draft_refused);
    auto events = take_token(chosen, seen);
    events[0].after_drafts = taken;
    events[0].drafts = row.drafts;
    events[0].more = running && next >= 0;
    received.insert(received.end(), events.begin(), events.end());
    if (running && accepted && next < 0) seen.visit(feature::failed_after_draft);
    if (!running) break;
    if (next < 0) {
      if (samples == 0 && ahead.empty()) seen.visit(feature::samples_over), make_idle();
      break;
    }
    --credits;
    ++reached;
    chosen = next;
  }
  return received;
}

std::vector<event> mirror::take_token(token taken, coverage& seen) {
  std::vector<event> received{{.type = event::kind::token, .sequence = {}}};
  const auto& ends = options.end_tokens;
  const bool end = std::find(ends.begin(), ends.end(), taken) != ends.end();
  seen.visit(end ? feature::end_token : feature::token);
  if (!end) {
    if (!ahead.empty()) ahead.erase(ahead.begin());
    tokens.push_back(taken);
    ++sampled;
  }
  const bool full = static_cast<int>(tokens.size()) == capacity || sampled == options.max_new_tokens;
  if (end || full) make_idle();
  if (!end && full) seen.visit(feature::length);
  if (end || full)
    received.push_back(
        {.type = event::kind::finished, .sequence = {}, .reason = end ? finish::end_token : finish::length});
  return received;
}

std::vector<event> mirror::fail(int begin, coverage& seen) {
  const bool nothing_sampled = static_cast<int>(tokens.size()) == length_fed_;
  seen.visit(nothing_sampled ? feature::failed_prefill : feature::failed_decode);
  if (nothing_sampled) tokens.resize(static_cast<std::size_t>(length_before_));
  reached = std::min(reached, begin);
  make_idle();
  return {{.type = event::kind::finished, .sequence = {}, .reason = finish::failed}};
}

}  // namespace cogen::scheduler::simulate
