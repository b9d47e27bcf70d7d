#include "seating.hpp"

#include "growing.hpp"
#include "leaving.hpp"
#include "sharing.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {
namespace {

bool free_for(machine& all, const sequence& whose, const origin& first) {
  const bool fits = all.queued.waiting.empty() && reclaim(all, to_be_reserved(all, whose), first, first.source());
  return fits && all.slots.returns(first);  // in this order: what is given up may be where it comes from
}

seat lose(machine& all, sequence& whose) {
  unseat(all, whose);
  all.queued.place(whose);
  return seat::lost;
}

/// From its first token.
void run_again(machine& all, sequence& whose) {
  whose.cached = 0;
  all.queued.place(whose);
}

seat move(machine& all, sequence& whose) {
  const auto first = all.slots.share(whose.slot, whose.cached, whose.cached);
  if (!free_for(all, whose, first)) return lose(all, whose);
  const int left = whose.slot;
  take_slot(all, whose, first);
  all.slots.leave(left);
  return seat::ready;
}

bool can_be_spilled(const machine& all, const sequence& whose) {
  const slot& from = all.slots[whose.slot];
  return all.within.spill_bytes > 0 && whose.cached > 0 && all.spilled.fits(all.within.spilled(from.length));
}

void spill(machine& all, sequence& whose) {
  const slot& from = all.slots[whose.slot];
  const auto name = all.spilled.take_out(whose.id, whose.slot, from.length, all.within.spilled(from.length));
  whose.away = {name, away::stage::leaving, from.length, from.reach, all.within.exact_spills};
  whose.follows.reset();
  all.queued.drop(whose);
  all.slots.begin_transfer(whose.slot);
  all.slots.leave(std::exchange(whose.slot, -1));
}

void forget_spilled(machine& all, sequence& whose) {
  if (whose.away) all.spilled.drop(whose.away->name);
  whose.away.reset();
}

/// The slot is its own, and empty.
void restore(machine& all, sequence& whose) {
  whose.away->at = away::stage::returning;
  all.spilled.bring_back(whose.away->name, whose.id, whose.slot, whose.away->length);
  all.slots.begin_transfer(whose.slot, whose.away->length, whose.away->reach);
}

/// Others leave their slots until there is room, or will be.
void make_room(machine& all, const sequence& waits) {
  const int tokens = to_be_reserved(all, waits);
  while (!all.slots.will_fit(tokens)) {
    auto* const leaves = next_to_leave(all, waits);
    if (!leaves) return;
    park(all, *leaves);
  }
}

bool has_room(machine& all, const sequence& whose) {
  return all.slots.has_seat() && reclaim(all, to_be_reserved(all, whose));
}

bool seat_alone(machine& all, sequence& whose) {
  if (!has_room(all, whose)) make_room(all, whose);
  if (!has_room(all, whose)) return false;
  take_slot(all, whose);
  whose.cached > 0 ? restore(all, whose) : forget_spilled(all, whose);
  return true;
}

bool seat_known(machine& all, sequence& whose) {
  if (!all.slots.has_seat()) return false;
  const auto found = find_known(all, whose);
  if (found.slot < 0 || !seat_with(all, whose, found)) return false;
  forget_spilled(all, whose);
  return true;
}

}  // namespace

void admit(machine& all) {
  auto& waiting = all.queued.waiting;
  if (!waiting.empty() && somebody_is_short(all)) return;
  while (!waiting.empty()) {
    sequence& head = *waiting.first();
    if (!seat_known(all, head) && !seat_alone(all, head)) return;
    head.fresh = true;
    all.queued.give_slot(head);
    all.queued.place(head);
  }
}

void park(machine& all, sequence& whose) {
  if (can_be_spilled(all, whose))
    spill(all, whose);
  else
    unseat(all, whose);
  ++all.parked;
  all.queued.place(whose);
}

void seat_beside(machine& all, sequence& child, const sequence& parent) {
  admit(all);
  if (parent.slot < 0 || parent.in_transfer()) return;
  // The last token is not shared, so that it can be run again.
  const auto first = all.slots.share(parent.slot, parent.cached, std::min(parent.cached, parent.length() - 1));
  if (!all.slots.has_seat() || !free_for(all, child, first)) return;
  take_slot(all, child, first);
  child.cached = parent.cached;
  all.queued.place(child);
}

void unseat(machine& all, sequence& whose) {
  forget_spilled(all, whose);
  whose.cached = 0;
  whose.follows.reset();
  if (whose.slot < 0) return;
  all.queued.drop(whose);
  all.slots.leave(std::exchange(whose.slot, -1));
}

void depart(machine& all, sequence& whose) {
  if (whose.slot >= 0 && !whose.in_transfer()) {
    all.queued.drop(whose);
    leave_slot(all, whose);
  }
  unseat(all, whose);
}

void arrive(machine& all, sequence& whose, bool ok) {
  const bool lost = !ok && whose.away->at != away::stage::copied;
  if (ok && whose.away->at == away::stage::returning && !whose.away->exact) whose.exact = false;
  if (ok && whose.away->at == away::stage::leaving)
    whose.away->at = away::stage::stored;
  else
    whose.away.reset();
  if (lost) whose.cached = 0;
  whose.running ? all.queued.place(whose) : rest(all, whose);
}

void rest(machine& all, sequence& whose) {
  all.queued.drop(whose);
  whose.follows.reset();
  if (whose.cached == 0) unseat(all, whose);
  // Nobody else begins with what it is about to forget, and holds it up.
  if (whose.slot >= 0) all.known.cut(whose.slot, whose.cached);
  all.queued.place(whose);
}

seat prepare(machine& all, sequence& whose, plan& into) {
  const slot& seated = all.slots[whose.slot];
  if (!all.slots.goes_back(whose.slot, whose.cached)) run_again(all, whose);
  if (seated.pinned() > whose.cached) return move(all, whose);
  if (seated.length == whose.cached) return seat::ready;
  if (all.slots.read_beyond(whose.slot, whose.cached)) return seat::later;
  while (!all.slots.cut(whose.slot, whose.cached, into))
    if (!all.slots.evict()) return lose(all, whose);
  all.known.cut(whose.slot, whose.cached);
  return seat::ready;
}

}  // namespace cogen::scheduler
