#include "preempt.hpp"

#include <algorithm>
#include <cstddef>

namespace cogen::scheduler {
namespace {

/// Not while rows in flight may sample tokens that recomputing would need, or end its run.
bool can_be_preempted(const state& all, const sequence& seq) {
  const bool awaits_rows = seq.running && (seq.current.unknown > 0 || seq.remaining() == 0);
  return !awaits_rows && all.slots.only_its_owners(seq.slot);
}

bool idle_long_enough(const state& all, const sequence& seq) {
  return seq.since && all.now - *seq.since >= all.within.idle_timeout;
}

holder as_holder(const state& all, const sequence& seq) {
  return {seq.as_candidate(), seq.since, seq.cached, all.slots[seq.slot].bytes};
}

/// The first of the sequences that are idle in a slot, the longest idle first, for which `may` holds.
sequence* first_idle(state& all, const auto& may) {
  sequence* first = nullptr;
  for (sequence* each : all.queued.idle_in_slots) {
    if (!may(*each)) break;
    if (!can_be_preempted(all, *each)) continue;
    if (!first || all.leaves.before(as_holder(all, *each), as_holder(all, *first))) first = each;
  }
  return first;
}

bool comes_lower(const state& all, const holder& a, const holder& b) {
  if (all.policy.before(b.run, a.run)) return true;
  return !all.policy.before(a.run, b.run) && all.leaves.before(a, b);
}

/// The last in order of the running sequences for which `may` holds.
sequence* lowest_of_running(state& all, const auto& may) {
  sequence* lowest = nullptr;
  const auto look_at = [&](sequence& each) {
    const auto held = as_holder(all, each);
    if (!may(each, held.run) || !can_be_preempted(all, each)) return;
    if (!lowest || comes_lower(all, held, as_holder(all, *lowest))) lowest = &each;
  };
  for (sequence* each : all.queued.decoding) look_at(*each);
  for (sequence* each : all.queued.prefilling.all()) look_at(*each);
  return lowest;
}

/// Slots that the tenant's sequences hold, but for those in transfer.
std::ptrdiff_t slots_of(const state& all, std::uint64_t tenant) {
  const auto is_its = [tenant](const sequence* each) { return each->options.tenant == tenant; };
  return std::ranges::count_if(all.queued.prefilling.all(), is_its) +
         std::ranges::count_if(all.queued.decoding, is_its) + std::ranges::count_if(all.queued.idle_in_slots, is_its);
}

/// Whether a tenant's turn comes before the other one's also without what that one's slots are charged.
bool comes_before(const state& all, std::uint64_t tenant, std::uint64_t other) {
  return all.queued.waiting.mark_of(tenant) < all.queued.prefilling.mark_of(other);
}

/// Whether the run that waits comes before the one that runs: of another tenant, if the policy divides, where that one
/// holds more slots also after it has given up one. Of what it got that slot for all has to be run: it would not be
/// charged for the rest, and so be the next to get a slot. A tenant without a slot does not wait for prompts of which
/// nothing is read.
bool is_due(const state& all, const candidate& waits, const sequence& seq, const candidate& runs) {
  if (!all.queued.waiting.divided() || waits.tenant == runs.tenant) return all.policy.before(waits, runs);
  const bool has_run = seq.to_be_fed == 0;
  if (!has_run && !seq.fresh) return false;
  const auto slots = slots_of(all, waits.tenant);
  if (slots_of(all, runs.tenant) < slots + 2) return false;
  return has_run || (slots == 0 && comes_before(all, waits.tenant, runs.tenant));
}

}  // namespace

sequence* next_to_leave(state& all, const sequence& waits) {
  if (auto* const found = first_idle(all, [&](auto& each) { return idle_long_enough(all, each); })) return found;
  const auto above = waits.as_candidate();
  return lowest_of_running(all, [&](const sequence& each, const candidate& run) {
    return each.current.last_asked > waits.current.displaced_at && is_due(all, above, each, run) &&
           all.policy.displaces(above, run);
  });
}

sequence* next_to_make_way(state& all, const sequence& grows) {
  if (auto* const found = first_idle(all, [](auto&) { return true; })) return found;
  const auto above = grows.as_candidate();
  return lowest_of_running(all, [&](auto&, const candidate& run) { return all.policy.precedes(above, run); });
}

std::optional<time> next_to_preempt(const state& all) {
  const auto& waiting = all.queued.waiting;
  if (waiting.empty() || (all.slots.has_free_slot() && all.slots.fits(waiting.first()->reserved))) return std::nullopt;
  for (const auto* each : all.queued.idle_in_slots)
    if (each->since && !idle_long_enough(all, *each) && can_be_preempted(all, *each))
      return all.within.idle_timeout < time::max() - *each->since
                 ? std::optional(*each->since + all.within.idle_timeout)
                 : std::nullopt;
  return std::nullopt;
}

}  // namespace cogen::scheduler
