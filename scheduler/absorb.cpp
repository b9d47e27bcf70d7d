#include "absorb.hpp"

#include "admit.hpp"
#include "prefix_cache.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

/// Applies the result of one row to its run.
class row_reader {
 public:
  row_reader(state& sched, sequence& seq, const row_record& row, int index, step& done)
      : sched_(sched), seq_(seq), row_(row), index_(index), step_(done) {}

  void apply(const row& result) {
    if (result.failed) return fail(result);
    if (result.late) return await_sample(result);
    if (row_.wanted == output::sample) return take_samples(result);
    if (row_.wanted != output::nothing) tell(event::kind::logits).last = row_.last;
    if (!row_.last) return;
    if (row_.wanted == output::nothing)
      finish_run(finish::length);
    else
      end();
  }

 private:
  void await_sample(const row& result) {
    seq_.current.unknown -= row_.unknown;
    drop_drafts(result.drafts);
    seq_.current.late = {step_.number, row_.begin, result.drafts};
    sched_.queued.place(seq_);
  }

  void take_samples(const row& result) {
    seq_.current.unknown -= row_.unknown;
    if (!seq_.drafts.empty()) accepted_ = accept_drafts(result);
    for (int i = 0; i <= accepted_; ++i)
      if (!take_token(after_drafts(result, i), result.drafts, i, i < accepted_)) return;
    if (seq_.current.samples + seq_.current.unknown == 0) return end();
    if (seq_.where == phase::paused) sched_.queued.place(seq_);  // it may have waited for what was sampled
  }

  /// How many of the row's drafts were sampled, up to an end token or the first after which no token was. The slot
  /// keeps them.
  int accept_drafts(const row& result) {
    const auto judged = std::min<std::int64_t>(std::ssize(seq_.drafts), result.drafts + 1);
    int right = 0;
    while (right < judged && after_drafts(result, right) == seq_.drafts[static_cast<std::size_t>(right)]) ++right;
    if (seq_.only_if_faster) seq_.accepts.saw(judged, right);
    int accepted = 0;
    while (accepted < std::min(right, result.drafts) && after_drafts(result, accepted + 1) >= 0 &&
           !seq_.ends_with(after_drafts(result, accepted)))
      ++accepted;
    drop_drafts(result.drafts - accepted);
    seq_.current.credits -= accepted;
    sched_.accepted_drafts += static_cast<std::uint64_t>(accepted);
    return accepted;
  }

  /// The last so many of the row's are wrong, and none of the sequence's is left.
  void drop_drafts(int count) {
    if (seq_.drafts.empty()) return;
    seq_.drafts.clear();
    seq_.cached -= count;
    sched_.slots.drop_drafts(seq_.slot, seq_.cached);
  }

  token after_drafts(const row& result, int count) const { return step_.sampled_of(result, count); }

  /// What was sampled after so many of a row's drafts; `more`: another token of it comes. False if the run has ended.
  bool take_token(token sampled, int drafts, int after, bool more) {
    auto& told = tell(event::kind::token);
    told.after_drafts = after;
    told.drafts = drafts;
    told.more = more;
    if (seq_.ends_with(sampled)) return finish_run(finish::end_token), false;
    ++seq_.sampled;
    seq_.tokens.push_back(sampled);
    if (seq_.room() + seq_.current.unknown == 0) return finish_run(finish::length), false;
    return true;
  }

  void fail(const row& result) {
    seq_.cached = std::min({seq_.cached, row_.begin, result.held.value_or(row_.begin)});
    if (seq_.length() == seq_.current.length_fed) seq_.undo();
    finish_run(finish::failed);
  }

  void finish_run(finish reason) {
    tell(event::kind::finished).reason = reason;
    end();
  }

  void end() {
    if (row_.wanted == output::sample) sched_.measured.ended(seq_.sampled - seq_.current.sampled_before);
    seq_.end();
    if (accepted_ > 0) learn(sched_, seq_);
    make_idle(sched_, seq_);
    if (seq_.options.release_at_end) forget(sched_, seq_);
  }

  event& tell(event::kind type) {
    return step_.events.emplace_back(event{.type = type, .sequence = seq_.id, .row = index_});
  }

  state& sched_;
  sequence& seq_;
  const row_record& row_;
  int index_;
  step& step_;
  int accepted_ = 0;  // of the row's drafts
};

/// The sequence, if the row is of its run.
sequence* runner_of(state& sched, const row_record& row) {
  const auto found = sched.sequences.find(row.sequence);
  if (found == sched.sequences.end() || !found->second.running) return nullptr;
  return found->second.current.arrival == row.arrival ? &found->second : nullptr;
}

}  // namespace

void check_late_rows(state& sched, const step_record& record, const step& done) {
  for (std::size_t i = 0; i < record.rows.size(); ++i) {
    const auto& late = done.rows[i];
    const auto* const seq = late.late ? runner_of(sched, record.rows[i]) : nullptr;
    if (seq && seq->cached - late.drafts > seq->length())
      throw std::invalid_argument("row " + std::to_string(i) + " of step " + std::to_string(done.number) +
                                  " is late, and another row is chained to it");
  }
}

void absorb_results(state& sched, const step_record& record, step& done) {
  done.events.reserve(record.rows.size());
  for (std::size_t i = 0; i < record.rows.size(); ++i) {
    const auto& row = record.rows[i];
    if (auto* const seq = runner_of(sched, row))
      row_reader(sched, *seq, row, static_cast<int>(i), done).apply(done.rows[i]);
    else
      done.rows[i].late = false;
  }
  // Memory is short, and a slot that is kept may lack tokens of such a row.
  if (std::ranges::any_of(done.rows, [](const auto& row) { return row.held.has_value(); }))
    while (sched.slots.evict()) {
    }
}

std::vector<event> absorb_late(state& sched, const late_sample& sample) {
  const auto found = sched.sequences.find(sample.sequence);
  if (found == sched.sequences.end()) return {};
  auto& seq = found->second;
  if (!seq.current.late || seq.current.late->step != sample.step) return {};
  step none;
  none.sampled = {sample.sampled};
  const auto late = *std::exchange(seq.current.late, std::nullopt);
  const row_record planned{seq.id, seq.current.arrival, late.begin, output::sample, true, 0};
  row result{};
  result.wanted = output::sample;
  result.failed = sample.failed;
  result.drafts = late.drafts;
  row_reader(sched, seq, planned, -1, none).apply(result);
  return std::move(none.events);
}

void forget(state& sched, sequence& seq) {
  sched.queued.remove(seq);
  release_sequence(sched, seq);
  sched.changes.drop(seq);
  sched.queued.leave(seq.options.tenant);
  sched.sequences.erase(seq.id);
}

}  // namespace cogen::scheduler
