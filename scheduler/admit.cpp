#include "admit.hpp"

#include "preempt.hpp"
#include "prefix_cache.hpp"
#include "reserve.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {
namespace {

bool free_for(state& sched, int tokens, const slot_fork& first) {
  const bool fits = sched.queued.waiting.empty() && reclaim(sched, tokens, first, first.source);
  return fits && sched.slots.returns(first);  // in this order: what is given up may be where it comes from
}

admission_result lose(state& sched, sequence& seq) {
  sched.changes.preempt(seq);
  drop_slot(sched, seq);
  sched.queued.place(seq);
  return admission_result::lost;
}

/// Recomputes the sequence from its first token.
void run_again(state& sched, sequence& seq) {
  seq.cached = 0;
  sched.queued.place(seq);
}

admission_result move(state& sched, sequence& seq) {
  const auto first = sched.slots.plan_fork(seq.slot, seq.cached, seq.cached);
  const int tokens = to_be_reserved(sched, seq);
  if (!free_for(sched, tokens, first)) return lose(sched, seq);
  const int left = seq.slot;
  take_slot(sched, seq, tokens, first);
  sched.slots.leave(left);
  return admission_result::ready;
}

bool can_be_swapped_out(const state& sched, const sequence& seq) {
  const slot& source = sched.slots[seq.slot];
  return sched.within.swap_bytes > 0 && seq.cached > 0 &&
         sched.swapped_out.fits(sched.within.swapped_out(source.length));
}

void swap_out(state& sched, sequence& seq) {
  const slot& source = sched.slots[seq.slot];
  const auto name =
      sched.swapped_out.take_out(seq.id, seq.slot, source.length, sched.within.swapped_out(source.length));
  seq.swapped = {name, swap_state::stage::swapping_out, source.length, source.high_water_mark,
                 sched.within.exact_swaps};
  seq.awaits_prefix.reset();
  sched.queued.drop(seq);
  sched.slots.begin_transfer(seq.slot);
  sched.slots.leave(sched.changes.set_slot(seq, -1));
}

void forget_swapped(state& sched, sequence& seq) {
  if (seq.swapped) sched.swapped_out.drop(seq.swapped->name);
  seq.swapped.reset();
}

/// Into its own empty slot.
void swap_in(state& sched, sequence& seq) {
  seq.swapped->current_stage = swap_state::stage::swapping_in;
  sched.swapped_out.bring_back(seq.swapped->name, seq.id, seq.slot, seq.swapped->length);
  sched.slots.begin_transfer(seq.slot, seq.swapped->length, seq.swapped->high_water_mark);
}

/// Preempts others until there is room, or will be.
void make_room(state& sched, const sequence& waits, int tokens) {
  while (!sched.slots.will_fit(tokens)) {
    auto* const leaves = next_to_leave(sched, waits);
    if (!leaves) return;
    if (leaves->ready()) leaves->current.displaced_at = sched.asked;
    preempt(sched, *leaves);
  }
}

bool has_room(state& sched, int tokens) { return sched.slots.has_free_slot() && reclaim(sched, tokens); }

bool admit_alone(state& sched, sequence& seq, int tokens) {
  if (!has_room(sched, tokens)) make_room(sched, seq, tokens);
  if (!has_room(sched, tokens)) return false;
  take_slot(sched, seq, tokens);
  seq.cached > 0 ? swap_in(sched, seq) : forget_swapped(sched, seq);
  return true;
}

bool admit_known(state& sched, sequence& seq, int tokens) {
  if (!sched.slots.has_free_slot()) return false;
  const auto found = find_known(sched, seq);
  if (found.slot < 0 || !admit_with(sched, seq, tokens, found)) return false;
  forget_swapped(sched, seq);
  return true;
}

}  // namespace

void admit(state& sched) {
  auto& waiting = sched.queued.waiting;
  if (!waiting.empty() && any_is_short(sched)) return;
  while (!waiting.empty()) {
    sequence& head = *waiting.first();
    head.reserved = to_be_reserved(sched, head);  // asked once: a policy may answer otherwise the next time
    if (!admit_known(sched, head, head.reserved) && !admit_alone(sched, head, head.reserved)) return;
    head.fresh = true;
    sched.queued.give_slot(head);
    sched.queued.place(head);
  }
}

void preempt(state& sched, sequence& seq) {
  sched.changes.preempt(seq);
  if (can_be_swapped_out(sched, seq))
    swap_out(sched, seq);
  else
    drop_slot(sched, seq);
  ++sched.preempted;
  sched.queued.place(seq);
}

void admit_beside(state& sched, sequence& child, const sequence& parent) {
  admit(sched);
  if (parent.slot < 0 || parent.in_transfer()) return;
  // The last token is not shared, so that it can be run again.
  const auto first = sched.slots.plan_fork(parent.slot, parent.cached, std::min(parent.cached, parent.length() - 1));
  const int tokens = to_be_reserved(sched, child);
  if (!sched.slots.has_free_slot() || !free_for(sched, tokens, first)) return;
  take_slot(sched, child, tokens, first);
  child.cached = parent.cached;
  child.prefilling = false;
  sched.queued.place(child);
}

void drop_slot(state& sched, sequence& seq) {
  forget_swapped(sched, seq);
  seq.cached = 0;
  seq.awaits_prefix.reset();
  if (seq.slot < 0) return;
  sched.queued.drop(seq);
  sched.slots.leave(sched.changes.set_slot(seq, -1));
}

void release_sequence(state& sched, sequence& seq) {
  if (seq.slot >= 0 && !seq.in_transfer()) {
    sched.queued.drop(seq);
    leave_slot(sched, seq);
  }
  drop_slot(sched, seq);
}

void end_swap(state& sched, sequence& seq, bool ok) {
  const bool lost = !ok && seq.swapped->current_stage != swap_state::stage::copied;
  if (ok && seq.swapped->current_stage == swap_state::stage::swapping_in && !seq.swapped->exact) seq.exact = false;
  if (ok && seq.swapped->current_stage == swap_state::stage::swapping_out)
    seq.swapped->current_stage = swap_state::stage::stored;
  else
    seq.swapped.reset();
  if (lost) seq.cached = 0;
  seq.running ? sched.queued.place(seq) : make_idle(sched, seq);
}

void make_idle(state& sched, sequence& seq) {
  sched.queued.drop(seq);
  seq.awaits_prefix.reset();
  if (seq.cached == 0) drop_slot(sched, seq);
  // No other sequence shares what it is about to drop; that would delay it.
  if (seq.slot >= 0) sched.known.cut(seq.slot, seq.cached);
  sched.queued.place(seq);
}

admission_result prepare(state& sched, sequence& seq, step& plan) {
  const slot& scheduled = sched.slots[seq.slot];
  if (!sched.slots.goes_back(seq.slot, seq.cached)) run_again(sched, seq);
  if (scheduled.pinned() > seq.cached) return move(sched, seq);
  if (scheduled.length == seq.cached) return admission_result::ready;
  if (sched.slots.read_beyond(seq.slot, seq.cached)) return admission_result::later;
  while (!sched.slots.cut(seq.slot, seq.cached, plan))
    if (!sched.slots.evict()) return lose(sched, seq);
  sched.known.cut(seq.slot, seq.cached);
  return admission_result::ready;
}

}  // namespace cogen::scheduler
