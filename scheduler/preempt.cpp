#include "preempt.hpp"

#include <algorithm>
#include <cstddef>

namespace cogen::scheduler {
namespace {

/// Not while rows in flight may sample tokens that recomputing would need, or end its run.
bool can_be_preempted(const state& sched, const sequence& seq) {
  const bool awaits_rows = seq.running && (seq.current.unknown > 0 || seq.remaining() == 0);
  return !awaits_rows && sched.slots.only_its_owners(seq.slot);
}

bool idle_long_enough(const state& sched, const sequence& seq) {
  return seq.since && sched.now - *seq.since >= sched.within.idle_timeout;
}

holder as_holder(const state& sched, const sequence& seq) {
  return {seq.as_candidate(), seq.since, seq.cached, sched.slots[seq.slot].bytes};
}

/// The first of the sequences that are idle in a slot, the longest idle first, for which `may` holds.
sequence* first_idle(state& sched, const auto& may) {
  sequence* first = nullptr;
  for (sequence* seq : sched.queued.idle_in_slots) {
    if (!may(*seq)) break;
    if (!can_be_preempted(sched, *seq)) continue;
    if (!first || sched.leaves.precedes(as_holder(sched, *seq), as_holder(sched, *first))) first = seq;
  }
  return first;
}

bool comes_lower(const state& sched, const holder& a, const holder& b) {
  if (sched.policy.precedes(b.run, a.run)) return true;
  return !sched.policy.precedes(a.run, b.run) && sched.leaves.precedes(a, b);
}

/// The last in order of the running sequences for which `may` holds.
sequence* lowest_of_running(state& sched, const auto& may) {
  sequence* lowest = nullptr;
  const auto look_at = [&](sequence& seq) {
    const auto held = as_holder(sched, seq);
    if (!may(seq, held.run) || !can_be_preempted(sched, seq)) return;
    if (!lowest || comes_lower(sched, held, as_holder(sched, *lowest))) lowest = &seq;
  };
  for (sequence* seq : sched.queued.decoding) look_at(*seq);
  for (sequence* seq : sched.queued.prefilling.sequences()) look_at(*seq);
  return lowest;
}

/// Slots that the tenant's sequences hold, but for those in transfer.
std::ptrdiff_t slots_of(const state& sched, std::uint64_t tenant) {
  const auto is_its = [tenant](const sequence* seq) { return seq->options.tenant == tenant; };
  return std::ranges::count_if(sched.queued.prefilling.sequences(), is_its) +
         std::ranges::count_if(sched.queued.decoding, is_its) +
         std::ranges::count_if(sched.queued.idle_in_slots, is_its);
}

/// Whether a tenant's turn comes before the other one's also without what that one's slots are charged.
bool comes_before(const state& sched, std::uint64_t tenant, std::uint64_t other) {
  return sched.queued.waiting.mark_of(tenant) < sched.queued.prefilling.mark_of(other);
}

/// Whether the run that waits comes before the one that runs: of another tenant, if the policy divides, where that one
/// holds more slots also after it has given up one. Of what it got that slot for all has to be run: it would not be
/// charged for the rest, and so be the next to get a slot. A tenant without a slot does not wait for prompts of which
/// nothing is read.
bool is_due(const state& sched, const candidate& waits, const sequence& seq, const candidate& runs) {
  if (!sched.queued.waiting.divided() || waits.tenant == runs.tenant) return sched.policy.precedes(waits, runs);
  const bool has_run = seq.to_be_fed == 0;
  if (!has_run && !seq.fresh) return false;
  const auto slots = slots_of(sched, waits.tenant);
  if (slots_of(sched, runs.tenant) < slots + 2) return false;
  return has_run || (slots == 0 && comes_before(sched, waits.tenant, runs.tenant));
}

}  // namespace

sequence* next_to_leave(state& sched, const sequence& waits) {
  if (auto* const found = first_idle(sched, [&](auto& seq) { return idle_long_enough(sched, seq); })) return found;
  const auto above = waits.as_candidate();
  return lowest_of_running(sched, [&](const sequence& seq, const candidate& run) {
    return seq.current.last_asked > waits.current.displaced_at && is_due(sched, above, seq, run) &&
           sched.policy.displaces(above, run);
  });
}

sequence* next_victim_for_memory(state& sched, const sequence& grows) {
  if (auto* const found = first_idle(sched, [](auto&) { return true; })) return found;
  const auto above = grows.as_candidate();
  return lowest_of_running(sched, [&](auto&, const candidate& run) { return sched.policy.is_ahead(above, run); });
}

std::optional<time> next_to_preempt(const state& sched) {
  const auto& waiting = sched.queued.waiting;
  if (waiting.empty() || (sched.slots.has_free_slot() && sched.slots.fits(waiting.first()->reserved)))
    return std::nullopt;
  for (const auto* seq : sched.queued.idle_in_slots)
    if (seq->since && !idle_long_enough(sched, *seq) && can_be_preempted(sched, *seq))
      return sched.within.idle_timeout < time::max() - *seq->since
                 ? std::optional(*seq->since + sched.within.idle_timeout)
                 : std::nullopt;
  return std::nullopt;
}

}  // namespace cogen::scheduler
