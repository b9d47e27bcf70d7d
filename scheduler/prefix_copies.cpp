#include "prefix_copies.hpp"

#include "prefix_cache.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

bool can_be_copied(const state& all, int index) {
  const slot& held = all.slots[index];
  return !held.pending && !held.moving && !held.shortened && all.slots.is_absorbed(index) &&
         all.known.length(index) > 0;
}

cached_prefix copied(state& all, int index) {
  const slot& held = all.slots[index];
  cached_prefix made{
      all.known.salt(index), all.known.tokens(index), {held.length, all.known.length(index), held.reach}};
  made.name = all.swapped_out.copy_out(sequence_id{}, index, held.length);
  all.slots.begin_transfer(index);
  return made;
}

void check(const cached_prefix& what) {
  const auto& of = what.snapshot;
  const auto tokens = what.tokens.size();
  if (of.exact && of.cached >= 1 && std::cmp_equal(of.cached, tokens) && of.cached <= of.length &&
      of.length <= of.reach)
    return;
  throw std::invalid_argument("a snapshot of " + std::to_string(of.length) + " tokens that reached " +
                              std::to_string(of.reach) + " cannot have a prefix of " + std::to_string(tokens) +
                              " tokens");
}

}  // namespace

std::vector<cached_prefix> copy_out_prefixes(state& all) {
  std::vector<cached_prefix> made;
  made.reserve(static_cast<std::size_t>(all.slots.kept()));
  try {
    for (const int index : all.slots.kept_slots())
      if (can_be_copied(all, index)) made.push_back(copied(all, index));
  } catch (const std::bad_alloc&) {  // those that were begun are enough
  }
  return made;
}

std::optional<swap_id> restore_prefix(state& all, const cached_prefix& what) {
  check(what);
  const int length = what.snapshot.length;
  const bool may = all.within.prefix_caching && length <= all.within.max_sequence_length && all.queued.waiting.empty();
  if (!may || !reclaim(all, length)) return std::nullopt;
  const auto name = all.swapped_out.add(0);
  const int index = take_unknown(all, length);
  all.swapped_out.bring_back(name, sequence_id{}, index, length);
  all.slots.begin_transfer(index, length, what.snapshot.reach);
  all.slots.keep(index, true);
  all.known.hold(index, what.cache_salt, what.tokens);
  return name;
}

void lose_prefix(state& all, int slot) {
  all.known.forget(slot);
  all.slots.drop_kept(slot);
}

}  // namespace cogen::scheduler
