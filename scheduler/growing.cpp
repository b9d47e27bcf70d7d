#include "growing.hpp"

#include "leaving.hpp"
#include "seating.hpp"

#include <algorithm>

namespace cogen::scheduler {
namespace {

/// Whole blocks, which is how memory is counted.
int reserved_for(const machine& all, const sequence& whose, int needed) {
  const int wanted = std::clamp(all.reserves->tokens(needed, whose.capacity), needed, whose.capacity);
  const int over = wanted % all.within.usage.block;
  const int missing = over == 0 ? 0 : all.within.usage.block - over;
  return missing < whose.capacity - wanted ? wanted + missing : whose.capacity;
}

/// What is kept is given up for it.
bool set_aside(machine& all, sequence& whose, int tokens) {
  while (!all.slots.grow(whose.slot, tokens))
    if (!all.slots.evict()) return false;
  whose.reserved = tokens;
  return true;
}

bool set_aside(machine& all, sequence& whose) {
  const int needed = whose.needed();
  return set_aside(all, whose, reserved_for(all, whose, needed)) || set_aside(all, whose, needed);
}

/// Others leave until enough will be free.
void relieve(machine& all, const sequence& whose) {
  const auto enough = all.reserves->low(all.within.memory_bytes);
  while (all.slots.bytes_with(whose.slot, whose.needed()) > enough) {
    auto* const leaves = next_to_make_way(all, whose);
    if (!leaves) return;
    park(all, *leaves);
  }
}

/// Whether others may leave, or give memory back, that cannot now.
bool something_ends(const machine& all) { return !all.in_flight.empty() || !all.spilled.on_their_way().empty(); }

void provide(machine& all, sequence& whose) {
  if (set_aside(all, whose)) return;
  relieve(all, whose);
  if (!set_aside(all, whose) && !something_ends(all)) park(all, whose);
}

/// True where somebody has left, and others may be short for it no more, or for good.
bool look_through(machine& all, const auto& queue) {
  const auto parked = all.parked;
  for (sequence* each : queue) {
    if (!is_short(*each)) continue;
    provide(all, *each);
    if (all.parked > parked) return true;
  }
  return false;
}

}  // namespace

int to_be_reserved(const machine& all, const sequence& whose) {
  return reserved_for(all, whose, std::max(whose.needed(), whose.away ? whose.away->length : 0));
}

bool is_short(const sequence& whose) { return whose.slot >= 0 && whose.needed() > whose.reserved && whose.ready(); }

void grow(machine& all) {
  while (look_through(all, all.queued.decoding) || look_through(all, all.queued.prefilling.all())) {
  }
}

bool somebody_is_short(const machine& all) {
  const auto is = [](const sequence* each) { return is_short(*each); };
  return std::ranges::any_of(all.queued.decoding, is) || std::ranges::any_of(all.queued.prefilling.all(), is);
}

}  // namespace cogen::scheduler
