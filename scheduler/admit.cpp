#include "admit.hpp"

#include "preempt.hpp"
#include "prefix_cache.hpp"
#include "reserve.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {
namespace {

bool free_for(state& all, int tokens, const slot_fork& first) {
  const bool fits = all.queued.waiting.empty() && reclaim(all, tokens, first, first.from);
  return fits && all.slots.returns(first);  // in this order: what is given up may be where it comes from
}

admission_result lose(state& all, sequence& seq) {
  all.changes.preempt(seq);
  lose_slot(all, seq);
  all.queued.place(seq);
  return admission_result::lost;
}

/// Recomputes the sequence from its first token.
void run_again(state& all, sequence& seq) {
  seq.cached = 0;
  all.queued.place(seq);
}

admission_result move(state& all, sequence& seq) {
  const auto first = all.slots.share(seq.slot, seq.cached, seq.cached);
  const int tokens = to_be_reserved(all, seq);
  if (!free_for(all, tokens, first)) return lose(all, seq);
  const int left = seq.slot;
  take_slot(all, seq, tokens, first);
  all.slots.leave(left);
  return admission_result::ready;
}

bool can_be_swapped_out(const state& all, const sequence& seq) {
  const slot& from = all.slots[seq.slot];
  return all.within.swap_bytes > 0 && seq.cached > 0 && all.swapped_out.fits(all.within.swapped_out(from.length));
}

void swap_out(state& all, sequence& seq) {
  const slot& from = all.slots[seq.slot];
  const auto name = all.swapped_out.take_out(seq.id, seq.slot, from.length, all.within.swapped_out(from.length));
  seq.away = {name, away::stage::leaving, from.length, from.reach, all.within.exact_swaps};
  seq.awaits_prefix.reset();
  all.queued.drop(seq);
  all.slots.begin_transfer(seq.slot);
  all.slots.leave(all.changes.set_slot(seq, -1));
}

void forget_swapped(state& all, sequence& seq) {
  if (seq.away) all.swapped_out.drop(seq.away->name);
  seq.away.reset();
}

/// Into its own empty slot.
void swap_in(state& all, sequence& seq) {
  seq.away->at = away::stage::returning;
  all.swapped_out.bring_back(seq.away->name, seq.id, seq.slot, seq.away->length);
  all.slots.begin_transfer(seq.slot, seq.away->length, seq.away->reach);
}

/// Preempts others until there is room, or will be.
void make_room(state& all, const sequence& waits, int tokens) {
  while (!all.slots.will_fit(tokens)) {
    auto* const leaves = next_to_leave(all, waits);
    if (!leaves) return;
    if (leaves->ready()) leaves->current.displaced_at = all.asked;
    preempt(all, *leaves);
  }
}

bool has_room(state& all, int tokens) { return all.slots.has_free_slot() && reclaim(all, tokens); }

bool admit_alone(state& all, sequence& seq, int tokens) {
  if (!has_room(all, tokens)) make_room(all, seq, tokens);
  if (!has_room(all, tokens)) return false;
  take_slot(all, seq, tokens);
  seq.cached > 0 ? swap_in(all, seq) : forget_swapped(all, seq);
  return true;
}

bool admit_known(state& all, sequence& seq, int tokens) {
  if (!all.slots.has_free_slot()) return false;
  const auto found = find_known(all, seq);
  if (found.slot < 0 || !admit_with(all, seq, tokens, found)) return false;
  forget_swapped(all, seq);
  return true;
}

}  // namespace

void admit(state& all) {
  auto& waiting = all.queued.waiting;
  if (!waiting.empty() && any_is_short(all)) return;
  while (!waiting.empty()) {
    sequence& head = *waiting.first();
    head.reserved = to_be_reserved(all, head);  // asked once: a policy may answer otherwise the next time
    if (!admit_known(all, head, head.reserved) && !admit_alone(all, head, head.reserved)) return;
    head.fresh = true;
    all.queued.give_slot(head);
    all.queued.place(head);
  }
}

void preempt(state& all, sequence& seq) {
  all.changes.preempt(seq);
  if (can_be_swapped_out(all, seq))
    swap_out(all, seq);
  else
    lose_slot(all, seq);
  ++all.preempted;
  all.queued.place(seq);
}

void admit_beside(state& all, sequence& child, const sequence& parent) {
  admit(all);
  if (parent.slot < 0 || parent.in_transfer()) return;
  // The last token is not shared, so that it can be run again.
  const auto first = all.slots.share(parent.slot, parent.cached, std::min(parent.cached, parent.length() - 1));
  const int tokens = to_be_reserved(all, child);
  if (!all.slots.has_free_slot() || !free_for(all, tokens, first)) return;
  take_slot(all, child, tokens, first);
  child.cached = parent.cached;
  child.prefilling = false;
  all.queued.place(child);
}

void lose_slot(state& all, sequence& seq) {
  forget_swapped(all, seq);
  seq.cached = 0;
  seq.awaits_prefix.reset();
  if (seq.slot < 0) return;
  all.queued.drop(seq);
  all.slots.leave(all.changes.set_slot(seq, -1));
}

void depart(state& all, sequence& seq) {
  if (seq.slot >= 0 && !seq.in_transfer()) {
    all.queued.drop(seq);
    leave_slot(all, seq);
  }
  lose_slot(all, seq);
}

void end_swap(state& all, sequence& seq, bool ok) {
  const bool lost = !ok && seq.away->at != away::stage::copied;
  if (ok && seq.away->at == away::stage::returning && !seq.away->exact) seq.exact = false;
  if (ok && seq.away->at == away::stage::leaving)
    seq.away->at = away::stage::stored;
  else
    seq.away.reset();
  if (lost) seq.cached = 0;
  seq.running ? all.queued.place(seq) : make_idle(all, seq);
}

void make_idle(state& all, sequence& seq) {
  all.queued.drop(seq);
  seq.awaits_prefix.reset();
  if (seq.cached == 0) lose_slot(all, seq);
  // No other sequence shares what it is about to drop; that would delay it.
  if (seq.slot >= 0) all.known.cut(seq.slot, seq.cached);
  all.queued.place(seq);
}

admission_result prepare(state& all, sequence& seq, step& into) {
  const slot& scheduled = all.slots[seq.slot];
  if (!all.slots.goes_back(seq.slot, seq.cached)) run_again(all, seq);
  if (scheduled.pinned() > seq.cached) return move(all, seq);
  if (scheduled.length == seq.cached) return admission_result::ready;
  if (all.slots.read_beyond(seq.slot, seq.cached)) return admission_result::later;
  while (!all.slots.cut(seq.slot, seq.cached, into))
    if (!all.slots.evict()) return lose(all, seq);
  all.known.cut(seq.slot, seq.cached);
  return admission_result::ready;
}

}  // namespace cogen::scheduler
