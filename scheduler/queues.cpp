#include "queues.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {

phase belongs_in(const sequence& each) {
  if (!each.running) return phase::idle;
  if (!each.ready()) return phase::paused;
  if (each.slot < 0) return phase::waiting;
  return each.work() > 1 ? phase::prefilling : phase::decoding;
}

void queues::place(sequence& whose) noexcept {
  const phase target = belongs_in(whose);
  auto& own = whose.nodes;
  if (target == phase::decoding && whose.where == phase::decoding)
    return decoding.splice(decoding.end(), decoding, own.turn);
  if (whose.rests && whose.resting()) return void(whose.where = target);
  remove(whose);
  whose.where = target;
  if (target == phase::waiting || target == phase::prefilling) whose.queued_as = whose.as_candidate();
  if (target == phase::waiting) wait(whose);
  if (target == phase::prefilling) prefilling.insert(whose);
  if (target == phase::decoding) decoding.splice(decoding.end(), own.unordered, own.turn);
  if (!whose.resting()) return;
  resting.splice(resting.end(), own.unordered, own.turn);
  whose.rests = true;
}

void queues::remove(sequence& whose) noexcept {
  auto& own = whose.nodes;
  if (whose.where == phase::waiting) waiting.remove(whose);
  if (whose.where == phase::prefilling) prefilling.remove(whose);
  if (whose.where == phase::decoding) own.unordered.splice(own.unordered.end(), decoding, own.turn);
  if (std::exchange(whose.rests, false)) own.unordered.splice(own.unordered.end(), resting, own.turn);
  whose.since.reset();
  whose.where = phase::idle;
}

bool queues::left_behind(std::uint64_t plan) const noexcept {
  if (!waiting.empty() || !prefilling.empty()) return true;
  return !decoding.empty() && decoding.front()->served != plan;
}

void queues::see(time now) noexcept {
  for (auto each = resting.rbegin(); each != resting.rend() && !(*each)->since; ++each) (*each)->since = now;
}

void queues::join(std::uint64_t tenant) {
  if (ledger_) ledger_->join(tenant);
}

void queues::leave(std::uint64_t tenant) noexcept {
  if (ledger_) ledger_->leave(tenant);
}

void queues::wait(sequence& whose) noexcept {
  const auto tenant = whose.options.tenant;
  if (ledger_ && !waiting.has_any_of(tenant)) {
    ledger_->waits(tenant, waiting.empty());
    prefilling.take_mark(tenant);
  }
  waiting.insert(whose);
}

void queues::give_slot(sequence& first) noexcept {
  if (!ledger_) return;
  first.to_be_fed = first.work();
  ledger_->seated(first.options.tenant, first.to_be_fed);
  take_marks(first.options.tenant);
}

void queues::tell_run(sequence& whose, std::int64_t tokens) noexcept {
  const auto fed = std::min(tokens, whose.to_be_fed);
  whose.to_be_fed -= fed;
  ledger_->ran(whose.options.tenant, tokens, fed);
  take_marks(whose.options.tenant);
}

void queues::drop(sequence& whose, std::int64_t still) noexcept {
  if (whose.to_be_fed <= still) return;
  ledger_->dropped(whose.options.tenant, std::exchange(whose.to_be_fed, still) - still);
  take_marks(whose.options.tenant);
}

void queues::take_marks(std::uint64_t tenant) noexcept {
  waiting.take_mark(tenant);
  prefilling.take_mark(tenant);
}

}  // namespace cogen::scheduler
