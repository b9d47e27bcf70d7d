#include "leaving.hpp"

namespace cogen::scheduler {
namespace {

/// Rows in flight may sample tokens that it would have to be run again from, or end its run.
bool can_be_parked(const machine& all, const sequence& whose) {
  const bool awaits_rows = whose.running && (whose.current.unknown > 0 || whose.remaining() == 0);
  return !awaits_rows && all.slots.only_its_owners(whose.slot);
}

bool has_rested(const machine& all, const sequence& whose) {
  return whose.since && all.now - *whose.since >= all.within.patience;
}

holder as_holder(const machine& all, const sequence& whose) {
  return {whose.as_candidate(), whose.since, whose.cached, all.slots[whose.slot].bytes};
}

/// Those that rest stand in the order in which they began to.
sequence* first_of_resting(machine& all) {
  sequence* first = nullptr;
  for (sequence* each : all.queued.resting) {
    if (!has_rested(all, *each)) break;
    if (!can_be_parked(all, *each)) continue;
    if (!first || all.leaves->before(as_holder(all, *each), as_holder(all, *first))) first = each;
  }
  return first;
}

/// The lowest of those that may be displaced.
class lowest {
 public:
  lowest(machine& all, const sequence& waits) : all_(all), waits_(waits.as_candidate()) {}

  void look_at(sequence& each) {
    const auto held = as_holder(all_, each);
    if (!all_.policy->displaces(waits_, held.run) || !can_be_parked(all_, each)) return;
    if (found && !comes_lower(held, as_holder(all_, *found))) return;
    found = &each;
  }

  sequence* found = nullptr;

 private:
  bool comes_lower(const holder& a, const holder& b) const {
    if (all_.policy->before(b.run, a.run)) return true;
    return !all_.policy->before(a.run, b.run) && all_.leaves->before(a, b);
  }

  machine& all_;
  const candidate waits_;
};

}  // namespace

sequence* next_to_leave(machine& all, const sequence& waits) {
  if (auto* const rests = first_of_resting(all)) return rests;
  lowest running(all, waits);
  for (sequence* each : all.queued.decoding) running.look_at(*each);
  for (sequence* each : all.queued.prefilling.all()) running.look_at(*each);
  return running.found;
}

std::optional<time> next_to_be_parked(const machine& all) {
  const auto& waiting = all.queued.waiting;
  if (waiting.empty() || (all.slots.has_seat() && all.slots.fits(waiting.first()->capacity))) return std::nullopt;
  for (const auto* each : all.queued.resting)
    if (each->since && !has_rested(all, *each) && can_be_parked(all, *each))
      return all.within.patience < time::max() - *each->since ? std::optional(*each->since + all.within.patience)
                                                              : std::nullopt;
  return std::nullopt;
}

}  // namespace cogen::scheduler
