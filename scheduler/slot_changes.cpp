#include "slot_changes.hpp"

#include <utility>

namespace cogen::scheduler {

int slot_changes::set(sequence& seq, int slot) noexcept {
  note(seq);
  return std::exchange(seq.slot, slot);
}

void slot_changes::preempt(sequence& seq) noexcept {
  note(seq);
  seq.preempted = true;
}

std::optional<slot_change> slot_changes::next() noexcept {
  if (changed_.empty()) return std::nullopt;
  sequence& seq = *changed_.front();
  const slot_change change{seq.id, seq.slot, seq.preempted};
  drop(seq);
  return change;
}

void slot_changes::drop(sequence& seq) noexcept {
  seq.preempted = false;
  auto& own = seq.nodes;
  if (own.unchanged.empty()) own.unchanged.splice(own.unchanged.end(), changed_, own.change);
}

void slot_changes::note(sequence& seq) noexcept {
  auto& own = seq.nodes;
  if (!own.unchanged.empty()) changed_.splice(changed_.end(), own.unchanged, own.change);
}

}  // namespace cogen::scheduler
