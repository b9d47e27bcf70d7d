#include "prefix_copies.hpp"

#include "prefix_cache.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

bool can_be_copied(const state& sched, int index) {
  const slot& held = sched.slots[index];
  return !held.pending && !held.moving && !held.shortened && sched.slots.is_absorbed(index) &&
         sched.known.length(index) > 0;
}

cached_prefix copied(state& sched, int index) {
  const slot& held = sched.slots[index];
  cached_prefix copy{sched.known.salt(index),
                     sched.known.tokens(index),
                     {held.length, sched.known.length(index), held.high_water_mark}};
  copy.name = sched.swapped_out.copy_out(sequence_id{}, index, held.length);
  sched.slots.begin_transfer(index);
  return copy;
}

void check(const cached_prefix& prefix) {
  const auto& stored = prefix.snapshot;
  const auto tokens = prefix.tokens.size();
  if (stored.exact && stored.cached >= 1 && std::cmp_equal(stored.cached, tokens) && stored.cached <= stored.length &&
      stored.length <= stored.high_water_mark)
    return;
  throw std::invalid_argument("a snapshot of " + std::to_string(stored.length) + " tokens that reached " +
                              std::to_string(stored.high_water_mark) + " cannot have a prefix of " +
                              std::to_string(tokens) + " tokens");
}

}  // namespace

std::vector<cached_prefix> copy_out_prefixes(state& sched) {
  std::vector<cached_prefix> copies;
  copies.reserve(static_cast<std::size_t>(sched.slots.kept()));
  try {
    for (const int index : sched.slots.kept_slots())
      if (can_be_copied(sched, index)) copies.push_back(copied(sched, index));
  } catch (const std::bad_alloc&) {  // those that were begun are enough
  }
  return copies;
}

std::optional<swap_id> restore_prefix(state& sched, const cached_prefix& prefix) {
  check(prefix);
  const int length = prefix.snapshot.length;
  const bool may =
      sched.within.prefix_caching && length <= sched.within.max_sequence_length && sched.queued.waiting.empty();
  if (!may || !reclaim(sched, length)) return std::nullopt;
  const auto name = sched.swapped_out.add(0);
  const int index = take_empty_slot(sched, length);
  sched.swapped_out.bring_back(name, sequence_id{}, index, length);
  sched.slots.begin_transfer(index, length, prefix.snapshot.high_water_mark);
  sched.slots.keep(index, true);
  sched.known.hold(index, prefix.cache_salt, prefix.tokens);
  return name;
}

void lose_prefix(state& sched, int slot) {
  sched.known.forget(slot);
  sched.slots.drop_kept(slot);
}

}  // namespace cogen::scheduler
