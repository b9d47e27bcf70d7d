#include "verify.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

void require(bool holds, const char* what, const sequence& of) {
  if (!holds) throw std::logic_error("sequence " + std::to_string(static_cast<std::uint64_t>(of.id)) + ": " + what);
}

bool among(const std::list<sequence*>& list, const sequence& each) {
  return std::find(list.begin(), list.end(), &each) != list.end();
}

bool listed(const queues& in, const sequence& each) {
  return in.waiting.has(each) || in.prefilling.has(each) || among(in.decoding, each);
}

void verify_away(const state& all, const sequence& each) {
  if (!each.away) return;
  const auto& moving = all.swapped_out.on_their_way();
  const auto found = std::ranges::find(moving, each.away->name, &transfer::name);
  const bool returns = each.away->at == away::stage::returning;
  const bool stays = returns || each.away->at == away::stage::copied;
  require((found != moving.end()) == each.in_transfer(), "its transfer is lost, or over", each);
  require(found == moving.end() || found->is_in == returns, "its transfer goes the wrong way", each);
  require((each.slot >= 0) == stays, "it has a slot and is away, or is on its way to none", each);
  require(each.cached <= each.away->length, "it counts on more than was swapped out", each);
}

/// Of the tokens that its slot will not be cut to.
void verify_known(const state& all, const sequence& each) {
  const auto& known = all.known.tokens(each.slot);
  const auto count = std::min({known.size(), each.tokens.size(), static_cast<std::size_t>(each.cached)});
  require(std::equal(known.begin(), known.begin() + count, each.tokens.begin()),
          "other tokens are known of its slot than its own", each);
  require(std::cmp_less_equal(known.size(), all.slots[each.slot].length), "more is known of its slot than it holds",
          each);
}

void verify_one(const state& all, const sequence& each) {
  require(each.where == belongs_in(each), "it is in the wrong queue", each);
  require(listed(all.queued, each) == each.ready(), "its queue has lost it, or keeps it", each);
  require(each.listed_as_idle == each.idle_in_slot(), "it is listed as idle and should not, or the other way round",
          each);
  require(among(all.queued.idle_in_slots, each) == each.listed_as_idle,
          "the list of idle sequences lacks it, or keeps it", each);
  require(each.length() <= each.capacity, "it holds more than it may", each);
  const int last = each.checkpoints.empty() ? 0 : each.checkpoints.back();
  require(std::max(each.branch, last) <= each.length(), "something is to be kept of more than it holds", each);
  require(each.cached >= 0 && each.remaining() >= 0, "it has more cached than it knows", each);
  const bool awaits_drafts = !all.in_flight.empty() && each.remaining() == 0;
  require(each.current.unknown <= static_cast<int>(all.in_flight.size()) || awaits_drafts,
          "it awaits more than is in flight", each);
  require(!each.current.late || (each.running && each.current.unknown == 0 && each.remaining() == 0),
          "it awaits a late sample, and could run", each);
  verify_away(all, each);
  require(!each.awaits_prefix || (each.fresh && each.slot >= 0), "it follows, and has begun", each);
  if (each.slot < 0) return require(each.cached == 0 || each.away, "it has something cached nowhere", each);
  require(each.reserved <= each.capacity && all.slots[each.slot].length <= each.reserved,
          "its slot holds more than memory is set aside for, or that is more than it may hold", each);
  require(all.slots[each.slot].owned, "it does not own its slot", each);
  require(all.slots[each.slot].length >= each.cached, "its slot holds less than it counts on", each);
  verify_known(all, each);
}

}  // namespace

void verify(const state& all) {
  all.slots.verify();
  all.swapped_out.verify();
  all.queued.waiting.verify();
  all.queued.prefilling.verify();
  int scheduled = 0;
  for (const auto& [id, each] : all.sequences) {
    verify_one(all, each);
    scheduled += each.slot >= 0;
  }
  int owned = 0;
  std::size_t moving = 0;
  all.known.verify();
  for (int index = 0; index < all.within.all_slots(); ++index) {
    owned += all.slots[index].owned;
    moving += all.slots[index].moving;
  }
  if (moving != all.swapped_out.on_their_way().size())
    throw std::logic_error("a slot waits for no transfer, or for two");
  if (owned != scheduled) throw std::logic_error("two sequences hold one slot, or a slot has lost its sequence");
}

}  // namespace cogen::scheduler
