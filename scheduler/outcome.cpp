#include "outcome.hpp"

#include "seating.hpp"

#include <algorithm>

namespace cogen::scheduler {
namespace {

/// What one row means to the run it belongs to.
class outcome {
 public:
  outcome(machine& all, sequence& whose, const row_in_flight& row, int index, std::vector<event>& events)
      : all_(all), whose_(whose), row_(row), index_(index), events_(events) {}

  void take_in(const row_result& result) {
    if (result.failed) return fail();
    if (row_.wanted == output::sample) return take_token(result.sampled);
    if (row_.wanted != output::nothing) tell({.what = event::kind::logits, .last = row_.last});
    if (!row_.last) return;
    if (row_.wanted == output::nothing)
      finish_run(finish::length);
    else
      end();
  }

 private:
  void take_token(token sampled) {
    tell({.what = event::kind::token, .sampled = sampled});
    if (whose_.ends_with(sampled)) return finish_run(finish::end_token);
    --whose_.current.unknown;
    ++whose_.sampled;
    whose_.tokens.push_back(sampled);
    if (whose_.room() + whose_.current.unknown == 0) return finish_run(finish::length);
    if (whose_.current.samples + whose_.current.unknown == 0) end();
  }

  void fail() {
    whose_.cached = std::min(whose_.cached, row_.begin);
    if (whose_.length() == whose_.current.length_fed) whose_.undo();
    finish_run(finish::failed);
  }

  void finish_run(finish reason) {
    tell({.what = event::kind::finished, .reason = reason});
    end();
  }

  void end() {
    if (row_.wanted == output::sample) all_.measured.ended(whose_.sampled - whose_.current.sampled_before);
    whose_.end();
    rest(all_, whose_);
    if (whose_.options.release_at_end) forget(all_, whose_);
  }

  void tell(event told) {
    told.sequence = whose_.id;
    told.row = index_;
    events_.push_back(told);
  }

  machine& all_;
  sequence& whose_;
  const row_in_flight& row_;
  int index_;
  std::vector<event>& events_;
};

}  // namespace

void take_in(machine& all, const plan_in_flight& done, std::span<const row_result> results,
             std::vector<event>& events) {
  events.reserve(done.rows.size());
  for (std::size_t i = 0; i < done.rows.size(); ++i) {
    const auto& row = done.rows[i];
    const auto found = all.sequences.find(row.sequence);
    if (found == all.sequences.end() || !found->second.running) continue;
    if (found->second.current.arrival != row.arrival) continue;
    outcome(all, found->second, row, static_cast<int>(i), events).take_in(results[i]);
  }
}

void forget(machine& all, sequence& whose) {
  all.queued.remove(whose);
  depart(all, whose);
  all.queued.leave(whose.options.tenant);
  all.sequences.erase(whose.id);
}

}  // namespace cogen::scheduler
