#include "queues.hpp"

#include <utility>

namespace cogen::scheduler {

phase belongs_in(const sequence& each) {
  if (!each.running) return phase::idle;
  if (!each.ready()) return phase::paused;
  if (each.slot < 0) return phase::waiting;
  return each.work() > 1 ? phase::prefilling : phase::decoding;
}

bool by_order::operator()(const sequence* a, const sequence* b) const {
  if (policy->before(a->queued_as, b->queued_as)) return true;
  return !policy->before(b->queued_as, a->queued_as) && a->queued_as.arrival < b->queued_as.arrival;
}

void queues::place(sequence& whose) noexcept {
  const phase target = belongs_in(whose);
  auto& own = whose.nodes;
  if (target == phase::decoding && whose.where == phase::decoding)
    return decoding.splice(decoding.end(), decoding, own.turn);
  if (whose.rests && whose.resting()) return void(whose.where = target);
  remove(whose);
  whose.where = target;
  whose.queued_as = {whose.id, whose.current.arrival, whose.work()};
  if (target == phase::waiting) waiting.insert(std::move(own.ordered));
  if (target == phase::prefilling) prefilling.insert(std::move(own.ordered));
  if (target == phase::decoding) decoding.splice(decoding.end(), own.unordered, own.turn);
  if (!whose.resting()) return;
  resting.splice(resting.end(), own.unordered, own.turn);
  whose.rests = true;
}

void queues::remove(sequence& whose) noexcept {
  auto& own = whose.nodes;
  if (whose.where == phase::waiting) own.ordered = waiting.extract(&whose);
  if (whose.where == phase::prefilling) own.ordered = prefilling.extract(&whose);
  if (whose.where == phase::decoding) own.unordered.splice(own.unordered.end(), decoding, own.turn);
  if (std::exchange(whose.rests, false)) own.unordered.splice(own.unordered.end(), resting, own.turn);
  whose.since.reset();
  whose.where = phase::idle;
}

void queues::see(time now) noexcept {
  for (auto each = resting.rbegin(); each != resting.rend() && !(*each)->since; ++each) (*each)->since = now;
}

}  // namespace cogen::scheduler
