#include "reserve.hpp"

#include "admit.hpp"
#include "preempt.hpp"

#include <algorithm>

namespace cogen::scheduler {
namespace {

/// In whole blocks, the unit of memory.
int reserved_for(const state& all, const sequence& seq, int needed) {
  const int wanted = all.reserves.tokens(needed, seq.capacity);
  const int over = wanted % all.within.usage.block;
  const int missing = over == 0 ? 0 : all.within.usage.block - over;
  return missing < seq.capacity - wanted ? wanted + missing : seq.capacity;
}

/// Evicts what is kept for it.
bool set_aside(state& all, sequence& seq, int tokens) {
  while (!all.slots.grow(seq.slot, tokens))
    if (!all.slots.evict()) return false;
  seq.reserved = tokens;
  return true;
}

bool set_aside(state& all, sequence& seq) {
  const int needed = seq.needed();
  return set_aside(all, seq, reserved_for(all, seq, needed)) || set_aside(all, seq, needed);
}

/// Preempts others until enough will be free.
void relieve(state& all, const sequence& seq) {
  const auto enough = all.reserves.low(all.within.memory_bytes);
  while (all.slots.bytes_with(seq.slot, seq.needed()) > enough) {
    auto* const leaves = next_to_make_way(all, seq);
    if (!leaves) return;
    preempt(all, *leaves);
  }
}

/// Whether others may be preempted, or return memory, that cannot now.
bool something_ends(const state& all) { return !all.in_flight.empty() || !all.swapped_out.on_their_way().empty(); }

void provide(state& all, sequence& seq) {
  if (set_aside(all, seq)) return;
  relieve(all, seq);
  if (!set_aside(all, seq) && !something_ends(all)) preempt(all, seq);
}

/// True if one was preempted, so others may no longer be short, or for good.
bool look_through(state& all, const auto& queue) {
  const auto preempted = all.preempted;
  for (sequence* each : queue) {
    if (!is_short(*each)) continue;
    provide(all, *each);
    if (all.preempted > preempted) return true;
  }
  return false;
}

}  // namespace

int to_be_reserved(const state& all, const sequence& seq) {
  return reserved_for(all, seq, std::max(seq.needed(), seq.away ? seq.away->length : 0));
}

bool is_short(const sequence& seq) { return seq.slot >= 0 && seq.needed() > seq.reserved && seq.ready(); }

void grow(state& all) {
  while (look_through(all, all.queued.decoding) || look_through(all, all.queued.prefilling.all())) {
  }
}

bool any_is_short(const state& all) {
  const auto is = [](const sequence* each) { return is_short(*each); };
  return std::ranges::any_of(all.queued.decoding, is) || std::ranges::any_of(all.queued.prefilling.all(), is);
}

}  // namespace cogen::scheduler
