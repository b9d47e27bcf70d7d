#include "reserve.hpp"

#include "admit.hpp"
#include "preempt.hpp"

#include <algorithm>

namespace cogen::scheduler {
namespace {

/// In whole blocks, the unit of memory.
int reserved_for(const state& sched, const sequence& seq, int needed) {
  const int wanted = sched.reserves.tokens(needed, seq.capacity);
  const int over = wanted % sched.within.usage.block;
  const int missing = over == 0 ? 0 : sched.within.usage.block - over;
  return missing < seq.capacity - wanted ? wanted + missing : seq.capacity;
}

/// Evicts what is kept for it.
bool set_aside(state& sched, sequence& seq, int tokens) {
  while (!sched.slots.grow(seq.slot, tokens))
    if (!sched.slots.evict()) return false;
  seq.reserved = tokens;
  return true;
}

bool set_aside(state& sched, sequence& seq) {
  const int needed = seq.needed();
  return set_aside(sched, seq, reserved_for(sched, seq, needed)) || set_aside(sched, seq, needed);
}

/// Preempts others until enough will be free.
void relieve(state& sched, const sequence& seq) {
  const auto enough = sched.reserves.low(sched.within.memory_bytes);
  while (sched.slots.bytes_with(seq.slot, seq.needed()) > enough) {
    auto* const leaves = next_victim_for_memory(sched, seq);
    if (!leaves) return;
    preempt(sched, *leaves);
  }
}

/// Whether others may be preempted, or return memory, that cannot now.
bool something_ends(const state& sched) {
  return !sched.in_flight.empty() || !sched.swapped_out.on_their_way().empty();
}

void provide(state& sched, sequence& seq) {
  if (set_aside(sched, seq)) return;
  relieve(sched, seq);
  if (!set_aside(sched, seq) && !something_ends(sched)) preempt(sched, seq);
}

/// True if one was preempted, so others may no longer be short, or for good.
bool look_through(state& sched, const auto& queue) {
  const auto preempted = sched.preempted;
  for (sequence* seq : queue) {
    if (!is_short(*seq)) continue;
    provide(sched, *seq);
    if (sched.preempted > preempted) return true;
  }
  return false;
}

}  // namespace

int to_be_reserved(const state& sched, const sequence& seq) {
  return reserved_for(sched, seq, std::max(seq.needed(), seq.swapped ? seq.swapped->length : 0));
}

bool is_short(const sequence& seq) { return seq.slot >= 0 && seq.needed() > seq.reserved && seq.ready(); }

void grow(state& sched) {
  while (look_through(sched, sched.queued.decoding) || look_through(sched, sched.queued.prefilling.sequences())) {
  }
}

bool any_is_short(const state& sched) {
  const auto is = [](const sequence* seq) { return is_short(*seq); };
  return std::ranges::any_of(sched.queued.decoding, is) || std::ranges::any_of(sched.queued.prefilling.sequences(), is);
}

}  // namespace cogen::scheduler
