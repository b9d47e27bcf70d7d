#include "verify.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

void require(bool holds, const char* message, const sequence& seq) {
  if (!holds) throw std::logic_error("sequence " + std::to_string(static_cast<std::uint64_t>(seq.id)) + ": " + message);
}

bool among(const std::list<sequence*>& list, const sequence& seq) {
  return std::find(list.begin(), list.end(), &seq) != list.end();
}

bool listed(const queues& in, const sequence& seq) {
  return in.waiting.has(seq) || in.prefilling.has(seq) || among(in.decoding, seq);
}

void verify_away(const state& sched, const sequence& seq) {
  if (!seq.swapped) return;
  const auto& moving = sched.swapped_out.on_their_way();
  const auto found = std::ranges::find(moving, seq.swapped->name, &transfer::name);
  const bool returns = seq.swapped->current_stage == swap_state::stage::swapping_in;
  const bool stays = returns || seq.swapped->current_stage == swap_state::stage::copied;
  require((found != moving.end()) == seq.in_transfer(), "its transfer is lost, or over", seq);
  require(found == moving.end() || found->is_in == returns, "its transfer goes the wrong way", seq);
  require((seq.slot >= 0) == stays, "it has a slot and is away, or is on its way to none", seq);
  require(seq.cached <= seq.swapped->length, "it counts on more than was swapped out", seq);
}

/// Of the tokens that its slot will not be cut to.
void verify_known(const state& sched, const sequence& seq) {
  const auto& known = sched.known.tokens(seq.slot);
  const auto count = std::min({known.size(), seq.tokens.size(), static_cast<std::size_t>(seq.cached)});
  require(std::equal(known.begin(), known.begin() + count, seq.tokens.begin()),
          "other tokens are known of its slot than its own", seq);
  require(std::cmp_less_equal(known.size(), sched.slots[seq.slot].length), "more is known of its slot than it holds",
          seq);
}

void verify_one(const state& sched, const sequence& seq) {
  require(seq.where == belongs_in(seq), "it is in the wrong queue", seq);
  require(listed(sched.queued, seq) == seq.ready(), "its queue has lost it, or keeps it", seq);
  require(seq.listed_as_idle == seq.idle_in_slot(), "it is listed as idle and should not, or the other way round", seq);
  require(among(sched.queued.idle_in_slots, seq) == seq.listed_as_idle,
          "the list of idle sequences lacks it, or keeps it", seq);
  require(seq.length() <= seq.capacity, "it holds more than it may", seq);
  const int last = seq.checkpoints.empty() ? 0 : seq.checkpoints.back();
  require(std::max(seq.branch, last) <= seq.length(), "something is to be kept of more than it holds", seq);
  require(seq.cached >= 0 && seq.remaining() >= 0, "it has more cached than it knows", seq);
  const bool awaits_drafts = !sched.in_flight.empty() && seq.remaining() == 0;
  require(seq.current.unknown <= static_cast<int>(sched.in_flight.size()) || awaits_drafts,
          "it awaits more than is in flight", seq);
  require(!seq.current.late || (seq.running && seq.current.unknown == 0 && seq.remaining() == 0),
          "it awaits a late sample, and could run", seq);
  verify_away(sched, seq);
  require(!seq.awaits_prefix || (seq.fresh && seq.slot >= 0), "it follows, and has begun", seq);
  if (seq.slot < 0) return require(seq.cached == 0 || seq.swapped, "it has something cached nowhere", seq);
  require(seq.reserved <= seq.capacity && sched.slots[seq.slot].length <= seq.reserved,
          "its slot holds more than memory is set aside for, or that is more than it may hold", seq);
  require(sched.slots[seq.slot].owned, "it does not own its slot", seq);
  require(sched.slots[seq.slot].length >= seq.cached, "its slot holds less than it counts on", seq);
  verify_known(sched, seq);
}

}  // namespace

void verify(const state& sched) {
  sched.slots.verify();
  sched.swapped_out.verify();
  sched.queued.waiting.verify();
  sched.queued.prefilling.verify();
  int scheduled = 0;
  for (const auto& [id, seq] : sched.sequences) {
    verify_one(sched, seq);
    scheduled += seq.slot >= 0;
  }
  int owned = 0;
  std::size_t moving = 0;
  sched.known.verify();
  for (int index = 0; index < sched.within.all_slots(); ++index) {
    owned += sched.slots[index].owned;
    moving += sched.slots[index].moving;
  }
  if (moving != sched.swapped_out.on_their_way().size())
    throw std::logic_error("a slot waits for no transfer, or for two");
  if (owned != scheduled) throw std::logic_error("two sequences hold one slot, or a slot has lost its sequence");
}

}  // namespace cogen::scheduler
