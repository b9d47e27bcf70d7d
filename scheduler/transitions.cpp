#include "transitions.hpp"

#include <utility>

namespace cogen::scheduler {

int transitions::set_slot(sequence& seq, int slot) noexcept {
  note(seq);
  return std::exchange(seq.slot, slot);
}

void transitions::preempt(sequence& seq) noexcept {
  note(seq);
  seq.was_preempted = true;
}

std::optional<transition> transitions::next() noexcept {
  while (!changed_.empty()) {
    sequence& seq = *changed_.front();
    auto& known = seq.reported;
    if (std::exchange(seq.was_preempted, false) && known.is == status::running) {
      known.is = status::preempted;
      return transition{seq.id, status::running, status::preempted, std::exchange(known.slot, -1)};
    }
    drop(seq);
    if (seq.slot < 0 || (known.is == status::running && known.slot == seq.slot)) continue;
    known.slot = seq.slot;
    return transition{seq.id, std::exchange(known.is, status::running), status::running, seq.slot};
  }
  return std::nullopt;
}

void transitions::drop(sequence& seq) noexcept {
  seq.was_preempted = false;
  auto& own = seq.nodes;
  if (own.unchanged.empty()) own.unchanged.splice(own.unchanged.end(), changed_, own.change);
}

void transitions::note(sequence& seq) noexcept {
  auto& own = seq.nodes;
  if (!own.unchanged.empty()) changed_.splice(changed_.end(), own.unchanged, own.change);
}

}  // namespace cogen::scheduler
