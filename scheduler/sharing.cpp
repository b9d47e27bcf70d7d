#include "sharing.hpp"

#include "growing.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace cogen::scheduler {
namespace {

bool shares(const machine& all, const sequence& whose) {
  return all.within.reuse && whose.options.reuse && !whose.options.source;
}

/// Whether others may begin with what it runs.
bool offers(const machine& all, const sequence& whose) { return shares(all, whose) && whose.exact; }

/// The last token is always run.
std::span<const token> all_but_last(const sequence& whose) { return {whose.tokens.data(), whose.tokens.size() - 1}; }

/// And so are those fed for the logits of each.
std::span<const token> to_begin_with(const sequence& whose) {
  const auto most = all_but_last(whose);
  const auto before = static_cast<std::size_t>(whose.current.length_before);
  return whose.current.wanted == output::all_logits ? most.first(std::min(most.size(), before)) : most;
}

int shared(const sequence& follower, const sequence& leader) {
  if (follower.options.salt != leader.options.salt) return 0;
  const auto first = to_begin_with(follower);
  return static_cast<int>(std::ranges::mismatch(first, all_but_last(leader)).in1 - first.begin());
}

bool is_worth_it(const machine& all, const sequence& whose, int length) {
  return length >= whose.cached + all.within.usage.block;
}

/// What is kept from this plan on counts, too.
prefix_match look_up(const machine& all, const sequence& whose) {
  const auto usable = [&](int slot, int length) {
    if (slot == whose.slot) return 0;
    const bool comes = all.slots[slot].kept && all.slots[slot].pending;
    return comes ? length : all.slots.can_share(slot, length);
  };
  return all.known.find(whose.options.salt, to_begin_with(whose), usable);
}

// Slots that begin with what others hold

int take_unknown(machine& all, int capacity, const origin& first) {
  const int slot = all.slots.take(capacity, first);
  all.known.forget(slot);
  return slot;
}

/// Nothing is lost but less than a block where the slot is taken over.
bool is_continued(const machine& all, const prefix_match& found) {
  const slot& of = all.slots[found.slot];
  return !of.branch && of.length < found.length + all.within.usage.block;
}

bool take_over(machine& all, sequence& whose, const prefix_match& found) {
  const int tokens = to_be_reserved(all, whose);
  if (!all.slots.can_take_over(found.slot, tokens, found.length)) return false;
  all.slots.take_over(found.slot, tokens);
  whose.reserved = tokens;
  all.known.cut(found.slot, found.length);
  whose.slot = found.slot;
  return true;
}

bool share(machine& all, sequence& whose, const prefix_match& found) {
  const auto first = all.slots.share(found.slot, found.length, found.length);
  if (!reclaim(all, to_be_reserved(all, whose), first, found.slot) || !all.slots.returns(first)) return false;
  all.slots.used(found.slot);
  take_slot(all, whose, first);
  return true;
}

/// It has run nothing in its slot, which it gives back for one that takes no more memory.
void begin_again(machine& all, sequence& whose, const prefix_match& found) {
  const slot& of = all.slots[found.slot];
  const auto first = all.slots.share(found.slot, found.length, found.length);
  const bool stays = of.owned || of.kept;
  if (!stays || !all.slots.is_settled(whose.slot) || first.shared < all.slots[whose.slot].shared) return;
  all.slots.used(found.slot);
  all.slots.leave(whose.slot);
  take_slot(all, whose, first);
  whose.cached = found.length;
  all.queued.drop(whose, whose.work());
  all.queued.place(whose);
}

// Leaders

bool goes_back_anywhere(const machine& all) { return all.within.slack == std::numeric_limits<int>::max(); }

/// Others part from it there, and may need what its slot holds then.
void branch_at(const machine& all, sequence& whose, int length) {
  if (goes_back_anywhere(all) || !is_worth_it(all, whose, length)) return;
  if (whose.branch <= whose.cached || length < whose.branch) whose.branch = length;
}

/// Whether the slot of the leader can be shared so far when it has run what is planned, or more.
bool comes_to(const machine& all, const sequence& leader, int length) {
  return length >= leader.cached || all.slots.goes_back(leader.slot, length);
}

/// Null where nobody runs what the sequence waits for.
sequence* leader_of(machine& all, const following& what) {
  const auto found = all.sequences.find(what.leader);
  if (found == all.sequences.end()) return nullptr;
  sequence& leader = found->second;
  const bool same = leader.ready() && leader.current.arrival == what.arrival;
  const bool runs = same && leader.slot >= 0 && leader.served == all.plans;
  return runs && all.known.length(leader.slot) < what.length && comes_to(all, leader, what.length) ? &leader : nullptr;
}

/// True where it has found one.
bool follow(machine& all, sequence& whose, const plan& made) {
  int most = whose.cached + all.within.usage.block - 1;
  for (const row& each : made.rows) {
    if (each.count == 1) continue;
    sequence& leader = all.sequences.at(each.sequence);
    const int both = offers(all, leader) ? shared(whose, leader) : 0;
    if (both <= most) continue;
    if (comes_to(all, leader, both)) {
      whose.follows = {leader.id, leader.current.arrival, most = both};
      branch_at(all, leader, both);
    } else {
      branch_at(all, whose, both);
    }
  }
  return whose.follows.has_value();
}

/// One that comes next may part from it, and would be too late to say so.
void look_ahead(machine& all, sequence& whose) {
  if (goes_back_anywhere(all) || whose.where != phase::prefilling) return;
  const auto* const next = all.queued.prefilling.after(whose);
  if (next && next->fresh && shares(all, *next)) branch_at(all, whose, shared(*next, whose));
}

}  // namespace

prefix_match find_known(const machine& all, const sequence& whose) {
  if (!shares(all, whose)) return {};
  const auto found = look_up(all, whose);
  return is_worth_it(all, whose, found.length) ? found : prefix_match{};
}

bool seat_with(machine& all, sequence& whose, const prefix_match& found) {
  const bool seated = (is_continued(all, found) && take_over(all, whose, found)) || share(all, whose, found) ||
                      take_over(all, whose, found);
  if (seated) whose.cached = found.length;
  return seated;
}

bool reclaim(machine& all, int capacity, const origin& first, int but) {
  while (!all.slots.fits(capacity, first))
    if (!all.slots.evict(but)) return false;
  return true;
}

void take_slot(machine& all, sequence& whose, const origin& first) {
  whose.reserved = to_be_reserved(all, whose);
  whose.slot = take_unknown(all, whose.reserved, first);
}

void learn(machine& all, const sequence& whose) {
  if (!offers(all, whose)) return;
  const std::span tokens(whose.tokens.data(), static_cast<std::size_t>(std::min(whose.cached, whose.length())));
  const auto held = static_cast<std::size_t>(all.known.length(whose.slot));
  if (held == 0)
    all.known.hold(whose.slot, whose.options.salt, tokens);
  else if (held < tokens.size())
    all.known.extend(whose.slot, tokens.subspan(held));
}

void leave_slot(machine& all, sequence& whose) {
  const int left = std::exchange(whose.slot, -1);
  const slot& of = all.slots[left];
  const bool filled = !of.pending && !of.moving && all.known.length(left) >= all.within.usage.block;
  shares(all, whose) && filled ? all.slots.keep(left) : all.slots.leave(left);
}

void join_leaders(machine& all) {
  if (!all.within.reuse) return;
  auto& chunks = all.queued.prefilling;
  for (auto* each = chunks.first(); each;) {
    sequence& whose = *std::exchange(each, chunks.after(*each));
    if (!whose.follows) continue;
    if (auto* const leader = leader_of(all, *whose.follows)) {
      branch_at(all, *leader, whose.follows->length);
      continue;
    }
    whose.follows.reset();
    if (const auto found = find_known(all, whose); found.slot >= 0) begin_again(all, whose, found);
  }
}

bool begin(machine& all, sequence& whose, const plan& made) {
  if (!shares(all, whose)) return true;
  if (whose.follows) return false;
  const auto found = look_up(all, whose);
  if (is_worth_it(all, whose, found.length)) {
    if (all.slots[found.slot].pending) return whose.follows.emplace(), false;
    begin_again(all, whose, found);
  }
  branch_at(all, whose, found.shared);
  if (follow(all, whose, made)) return false;
  look_ahead(all, whose);
  return true;
}

int until_branch(const machine& all, const sequence& whose) {
  if (whose.branch <= whose.cached) return std::numeric_limits<int>::max();
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{whose.branch} + all.within.slack - whose.cached,
                                                 std::numeric_limits<int>::max()));
}

void keep_branch(machine& all, sequence& whose) {
  const int length = whose.branch;
  if (length == 0 || length > whose.cached) return;
  whose.branch = 0;
  if (!whose.exact || all.slots.can_share(whose.slot, length) < length) return;
  // At least one token is copied, and with it what is only right at this length.
  const auto first = all.slots.share(whose.slot, length, length - 1);
  if (!reclaim(all, length, first) || !all.slots.returns(first)) return;
  const int kept = take_unknown(all, length, first);
  all.known.hold(kept, whose.options.salt, std::span(whose.tokens).first(static_cast<std::size_t>(length)));
  all.slots.keep(kept, true);
}

}  // namespace cogen::scheduler
