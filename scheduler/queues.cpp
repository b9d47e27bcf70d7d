#include "queues.hpp"

namespace cogen::scheduler {

phase belongs_in(const sequence& each) {
  if (!each.running) return phase::idle;
  if (!each.ready()) return phase::paused;
  if (each.slot < 0) return phase::waiting;
  return each.remaining() > 1 ? phase::prefilling : phase::decoding;
}

bool by_order::operator()(const sequence* a, const sequence* b) const {
  if (policy->before(a->queued_as, b->queued_as)) return true;
  return !policy->before(b->queued_as, a->queued_as) && a->queued_as.arrival < b->queued_as.arrival;
}

void queues::place(sequence& whose) {
  const phase target = belongs_in(whose);
  if (target == phase::decoding && whose.where == phase::decoding)
    return decoding.splice(decoding.end(), decoding, whose.turn);
  remove(whose);
  whose.where = target;
  whose.queued_as = {whose.id, whose.current.arrival, whose.remaining()};
  if (target == phase::waiting) waiting.insert(&whose);
  if (target == phase::prefilling) prefilling.insert(&whose);
  if (target == phase::decoding) whose.turn = decoding.insert(decoding.end(), &whose);
}

void queues::remove(sequence& whose) {
  if (whose.where == phase::waiting) waiting.erase(&whose);
  if (whose.where == phase::prefilling) prefilling.erase(&whose);
  if (whose.where == phase::decoding) decoding.erase(whose.turn);
  whose.where = phase::idle;
}

}  // namespace cogen::scheduler
