#include "queues.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {

phase belongs_in(const sequence& seq) {
  if (!seq.running) return phase::idle;
  if (!seq.ready()) return phase::paused;
  if (seq.slot < 0) return phase::waiting;
  return seq.work() > 1 ? phase::prefilling : phase::decoding;
}

void queues::place(sequence& seq) noexcept {
  const phase target = belongs_in(seq);
  auto& own = seq.nodes;
  if (target == phase::decoding && seq.where == phase::decoding)
    return decoding.splice(decoding.end(), decoding, own.turn);
  if (seq.listed_as_idle && seq.idle_in_slot()) return void(seq.where = target);
  remove(seq);
  seq.where = target;
  if (target == phase::waiting || target == phase::prefilling) seq.queued_as = seq.as_candidate();
  if (target == phase::waiting) wait(seq);
  if (target == phase::prefilling) prefilling.insert(seq);
  if (target == phase::decoding) decoding.splice(decoding.end(), own.unordered, own.turn);
  if (!seq.idle_in_slot()) return;
  idle_in_slots.splice(idle_in_slots.end(), own.unordered, own.turn);
  seq.listed_as_idle = true;
}

void queues::remove(sequence& seq) noexcept {
  auto& own = seq.nodes;
  if (seq.where == phase::waiting) waiting.remove(seq);
  if (seq.where == phase::prefilling) prefilling.remove(seq);
  if (seq.where == phase::decoding) own.unordered.splice(own.unordered.end(), decoding, own.turn);
  if (std::exchange(seq.listed_as_idle, false)) own.unordered.splice(own.unordered.end(), idle_in_slots, own.turn);
  seq.since.reset();
  seq.where = phase::idle;
}

bool queues::left_behind(std::uint64_t step) const noexcept {
  if (!waiting.empty() || !prefilling.empty()) return true;
  return !decoding.empty() && decoding.front()->served != step;
}

void queues::see(time now) noexcept {
  for (auto position = idle_in_slots.rbegin(); position != idle_in_slots.rend() && !(*position)->since; ++position)
    (*position)->since = now;
}

void queues::join(std::uint64_t tenant) {
  if (ledger_) ledger_->join(tenant);
}

void queues::leave(std::uint64_t tenant) noexcept {
  if (ledger_) ledger_->leave(tenant);
}

void queues::wait(sequence& seq) noexcept {
  const auto tenant = seq.options.tenant;
  if (ledger_ && !waiting.has_any_of(tenant)) {
    ledger_->waits(tenant, waiting.empty());
    prefilling.take_mark(tenant);
  }
  waiting.insert(seq);
}

void queues::give_slot(sequence& first) noexcept {
  if (!ledger_) return;
  first.to_be_fed = first.work();
  ledger_->scheduled(first.options.tenant, first.to_be_fed);
  take_marks(first.options.tenant);
}

void queues::tell_run(sequence& seq, std::int64_t tokens) noexcept {
  const auto fed = std::min(tokens, seq.to_be_fed);
  seq.to_be_fed -= fed;
  ledger_->ran(seq.options.tenant, tokens, fed);
  take_marks(seq.options.tenant);
}

void queues::drop(sequence& seq, std::int64_t still) noexcept {
  if (seq.to_be_fed <= still) return;
  ledger_->dropped(seq.options.tenant, std::exchange(seq.to_be_fed, still) - still);
  take_marks(seq.options.tenant);
}

void queues::take_marks(std::uint64_t tenant) noexcept {
  waiting.take_mark(tenant);
  prefilling.take_mark(tenant);
}

}  // namespace cogen::scheduler
