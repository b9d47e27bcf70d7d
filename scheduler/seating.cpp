#include "seating.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {
namespace {

bool free_for(const machine& all, const sequence& whose, const origin& first) {
  return all.slots.returns(first) && all.queued.waiting.empty() && all.slots.fits(whose.capacity, first);
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
  auto first = all.slots.share(whose.slot, whose.cached, whose.cached);
  if (!all.slots.returns(first)) {
    first = {};
    run_again(all, whose);
  }
  if (!free_for(all, whose, first)) return lose(all, whose);
  const int left = std::exchange(whose.slot, all.slots.take(whose.capacity, first));
  all.slots.leave(left);
  return seat::ready;
}

}  // namespace

void admit(machine& all) {
  auto& waiting = all.queued.waiting;
  while (!waiting.empty()) {
    sequence& head = **waiting.begin();
    if (!all.slots.fits(head.capacity)) return;
    head.slot = all.slots.take(head.capacity);
    all.queued.place(head);
  }
}

void seat_beside(machine& all, sequence& child, const sequence& parent) {
  if (parent.slot < 0 || parent.cached == 0) return;
  admit(all);
  // The last token is not shared, so that it can be run again.
  const auto first = all.slots.share(parent.slot, parent.cached, std::min(parent.cached, parent.length() - 1));
  if (!free_for(all, child, first)) return;
  child.slot = all.slots.take(child.capacity, first);
  child.cached = parent.cached;
}

void unseat(machine& all, sequence& whose) {
  if (whose.slot < 0) return;
  all.slots.leave(std::exchange(whose.slot, -1));
  whose.cached = 0;
}

void rest(machine& all, sequence& whose) {
  all.queued.remove(whose);
  if (whose.cached == 0) unseat(all, whose);
}

seat prepare(machine& all, sequence& whose, plan& into) {
  const slot& seated = all.slots[whose.slot];
  if (!all.slots.goes_back(whose.slot, whose.cached)) run_again(all, whose);
  if (seated.pinned() > whose.cached) return move(all, whose);
  if (seated.length == whose.cached) return seat::ready;
  if (all.slots.read_beyond(whose.slot, whose.cached)) return seat::later;
  return all.slots.cut(whose.slot, whose.cached, into) ? seat::ready : lose(all, whose);
}

}  // namespace cogen::scheduler
