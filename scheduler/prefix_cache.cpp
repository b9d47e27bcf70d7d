#include "prefix_cache.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace cogen::scheduler {
namespace {

bool shares(const state& sched, const sequence& seq) {
  return sched.within.prefix_caching && seq.options.prefix_caching && !seq.options.encoder_input;
}

/// Whether others may share what it runs.
bool offers(const state& sched, const sequence& seq) { return shares(sched, seq) && seq.exact; }

/// The last token is always run.
std::span<const token> all_but_last(const sequence& seq) { return {seq.tokens.data(), seq.tokens.size() - 1}; }

/// And so are those fed for the logits of each, or to be scored.
std::span<const token> to_begin_with(const sequence& seq) {
  const auto most = all_but_last(seq);
  const auto previous = static_cast<std::size_t>(seq.current.length_before);
  return seq.current.wanted == output::all_logits || seq.scores() ? most.first(std::min(most.size(), previous)) : most;
}

int shared(const sequence& follower, const sequence& leader) {
  if (follower.options.cache_salt != leader.options.cache_salt) return 0;
  const auto first = to_begin_with(follower);
  return static_cast<int>(std::ranges::mismatch(first, all_but_last(leader)).in1 - first.begin());
}

int min_shared_prefix(const state& sched, const sequence& seq) {
  return seq.options.min_shared_prefix > 0 ? seq.options.min_shared_prefix : sched.within.min_shared_prefix();
}

bool is_worth_it(const state& sched, const sequence& seq, int length) {
  return length >= seq.cached + min_shared_prefix(sched, seq);
}

/// The shortest prefix that it waits for.
int min_awaited(const state& sched, const sequence& seq) {
  if (seq.options.min_shared_prefix > 0) return seq.cached + seq.options.min_shared_prefix;
  const int block = sched.within.prefix_block();
  return seq.cached < block ? block : seq.cached + block;
}

/// What other slots hold of tokens, first ones of the sequence; includes what is kept from this step on.
prefix_match look_up(const state& sched, const sequence& seq, std::span<const token> tokens) {
  const auto usable = [&](int slot, int length) {
    if (slot == seq.slot) return 0;
    const bool comes = sched.slots[slot].kept && sched.slots[slot].pending;
    return comes ? length : sched.slots.can_share(slot, length);
  };
  return sched.known.find(seq.options.cache_salt, tokens, usable);
}

prefix_match look_up(const state& sched, const sequence& seq) { return look_up(sched, seq, to_begin_with(seq)); }

// Slots that share what others hold

/// Less than a block is lost if the slot is taken over.
bool is_continued(const state& sched, const prefix_match& found) {
  const slot& source = sched.slots[found.slot];
  return !source.branch && source.length < found.length + sched.within.prefix_block();
}

bool take_over(state& sched, sequence& seq, int tokens, const prefix_match& found) {
  if (!sched.slots.can_take_over(found.slot, tokens, found.length)) return false;
  sched.slots.take_over(found.slot, tokens);
  seq.reserved = tokens;
  sched.known.cut(found.slot, found.length);
  sched.changes.set_slot(seq, found.slot);
  return true;
}

bool share(state& sched, sequence& seq, int tokens, const prefix_match& found) {
  const auto first = sched.slots.plan_fork(found.slot, found.length, found.length);
  if (!reclaim(sched, tokens, first, found.slot) || !sched.slots.returns(first)) return false;
  sched.slots.used(found.slot);
  take_slot(sched, seq, tokens, first);
  return true;
}

/// It has run nothing in its slot, and returns it for one that takes no more memory.
void begin_again(state& sched, sequence& seq, const prefix_match& found) {
  const slot& source = sched.slots[found.slot];
  const auto first = sched.slots.plan_fork(found.slot, found.length, found.length);
  const bool stays = source.owned || source.kept;
  if (!stays || !sched.slots.is_settled(seq.slot) || first.shared < sched.slots[seq.slot].shared) return;
  sched.slots.used(found.slot);
  sched.slots.leave(seq.slot);
  take_slot(sched, seq, seq.reserved, first);
  seq.cached = found.length;
  sched.queued.drop(seq, seq.work());
  sched.queued.place(seq);
}

// Leaders

/// Others diverge from it there, and may need what its slot holds then.
void branch_at(const state& sched, sequence& seq, int length) {
  if (can_always_rewind(sched) || !is_worth_it(sched, seq, length)) return;
  if (seq.branch <= seq.cached || length < seq.branch) seq.branch = length;
}

/// Whether the leader's slot can be shared that far once it has run what is planned, or more.
bool comes_to(const state& sched, const sequence& leader, int length) {
  return length >= leader.cached || sched.slots.goes_back(leader.slot, length);
}

/// Null if no sequence runs what it waits for.
sequence* leader_of(state& sched, const following& target) {
  const auto found = sched.sequences.find(target.leader);
  if (found == sched.sequences.end()) return nullptr;
  sequence& leader = found->second;
  const bool same = leader.ready() && leader.current.arrival == target.arrival;
  const bool runs = same && leader.slot >= 0 && leader.served == sched.plans;
  return runs && sched.known.length(leader.slot) < target.length && comes_to(sched, leader, target.length) ? &leader
                                                                                                           : nullptr;
}

/// True if it has found a leader.
bool follow(state& sched, sequence& seq, const step& plan) {
  int most = min_awaited(sched, seq) - 1;
  for (const row& each : plan.rows) {
    if (each.count == 1 + each.drafts) continue;
    sequence& leader = sched.sequences.at(each.sequence);
    const int both = offers(sched, leader) ? shared(seq, leader) : 0;
    if (both <= most) continue;
    if (comes_to(sched, leader, both)) {
      seq.awaits_prefix = {leader.id, leader.current.arrival, most = both};
      branch_at(sched, leader, both);
    } else {
      branch_at(sched, seq, both);
    }
  }
  return seq.awaits_prefix.has_value();
}

/// Later sequences may diverge from it, and would arrive too late to say so.
void look_ahead(state& sched, sequence& seq) {
  if (can_always_rewind(sched) || seq.where != phase::prefilling) return;
  const auto& chunks = sched.queued.prefilling;
  for (const auto* next = chunks.after(seq); next; next = chunks.after(*next))
    if (next->fresh && shares(sched, *next)) branch_at(sched, seq, shared(*next, seq));
}

// What is kept of a slot that cannot be cut back later

/// The least length at which something is to be kept; 0: nowhere.
int next_kept(const state& sched, const sequence& seq) {
  const bool keeps = offers(sched, seq) && !can_always_rewind(sched) && !seq.checkpoints.empty();
  if (!keeps) return seq.branch;
  return seq.branch > 0 ? std::min(seq.branch, seq.checkpoints.front()) : seq.checkpoints.front();
}

/// The next length above this one at which what a slot holds is kept. From one to the next it is the interval, or up to
/// a twentieth of the length.
int next_checkpoint(const state& sched, int length) {
  std::int64_t between = sched.within.checkpoint_interval;
  while (between * 2 <= length / 20) between *= 2;
  return static_cast<int>(std::min<std::int64_t>((length / between + 1) * between, std::numeric_limits<int>::max()));
}

/// The same of a prompt of the sequence that others may share; 0: nowhere.
int next_checkpoint(const state& sched, const sequence& seq, int length) {
  if (sched.within.checkpoint_bytes == 0 || can_always_rewind(sched) || !offers(sched, seq)) return 0;
  const int next = next_checkpoint(sched, length);
  const bool fits = sched.within.checkpoint_usage(next) <= sched.within.checkpoint_bytes;
  return fits && next < seq.current.length_fed ? next : 0;
}

/// How many of its first `length` tokens no other slot holds.
int missing_elsewhere(const state& sched, const sequence& seq, int length) {
  const auto first = std::span(seq.tokens).first(static_cast<std::size_t>(length));
  return length - look_up(sched, seq, first).length;
}

/// Whether that is too little to keep more: a twentieth is run again, or less than a block of long ones.
bool is_negligible(const state& sched, const sequence& seq, int missing, int length) {
  if (seq.options.min_shared_prefix > 0) return missing < seq.options.min_shared_prefix;
  return missing <= std::min(length / 20, sched.within.prefix_block() - 1);
}

/// Drops what others have left only to save a block or more.
void keep_beginning(state& sched, const sequence& seq, int missing, int length) {
  // At least one token is copied, together with state that is valid only at this length.
  const auto first = sched.slots.plan_fork(seq.slot, length, length - 1);
  const bool is_much = missing >= sched.within.prefix_block() || seq.options.min_shared_prefix > 0;
  const bool fits = is_much ? reclaim(sched, length, first) : sched.slots.fits(length, first);
  if (!fits || !sched.slots.returns(first)) return;
  const int kept = take_empty_slot(sched, length, first);
  sched.known.hold(kept, seq.options.cache_salt, seq.tokens.first(static_cast<std::size_t>(length)));
  sched.slots.keep(kept, true);
}

}  // namespace

prefix_match find_known(const state& sched, const sequence& seq) {
  if (!shares(sched, seq)) return {};
  const auto found = look_up(sched, seq);
  return is_worth_it(sched, seq, found.length) ? found : prefix_match{};
}

int find_shareable(const state& sched, const cache_salt& salt, std::span<const token> tokens) {
  const auto usable = [&](int slot, int length) { return sched.slots.can_share(slot, length); };
  return sched.known.find(salt, tokens, usable).length;
}

shareable_prefix shareable_prefix_of(const state& sched, int slot) noexcept {
  const auto& held = sched.slots[slot];  // what has no user is about to be cleared
  const int length = held.users > 0 ? held.length : 0;
  return {sched.known.salt(slot), sched.known.tokens(slot).first(static_cast<std::size_t>(length))};
}

bool admit_with(state& sched, sequence& seq, int tokens, const prefix_match& found) {
  const bool scheduled = (is_continued(sched, found) && take_over(sched, seq, tokens, found)) ||
                         share(sched, seq, tokens, found) || take_over(sched, seq, tokens, found);
  if (scheduled) seq.cached = found.length;
  return scheduled;
}

bool reclaim(state& sched, int capacity, const slot_fork& first, int but) {
  while (!sched.slots.fits(capacity, first))
    if (!sched.slots.evict(but)) return false;
  return true;
}

int take_empty_slot(state& sched, int capacity, const slot_fork& first) {
  const int slot = sched.slots.take(capacity, first);
  sched.known.forget(slot);
  return slot;
}

void take_slot(state& sched, sequence& seq, int tokens, const slot_fork& first) {
  seq.reserved = tokens;
  sched.changes.set_slot(seq, take_empty_slot(sched, tokens, first));
}

void learn(state& sched, const sequence& seq) {
  if (!offers(sched, seq)) return;
  const auto count = static_cast<std::size_t>(std::min(seq.cached, seq.length()));
  const auto held = static_cast<std::size_t>(sched.known.length(seq.slot));
  if (held == 0)
    sched.known.hold(seq.slot, seq.options.cache_salt, seq.tokens.first(count));
  else if (held < count)
    sched.known.extend(seq.slot, std::span(seq.tokens).subspan(held, count - held));
}

void leave_slot(state& sched, sequence& seq) {
  const int left = sched.changes.set_slot(seq, -1);
  const slot& previous = sched.slots[left];
  const bool filled =
      !previous.pending && !previous.moving && sched.known.length(left) >= min_shared_prefix(sched, seq);
  shares(sched, seq) && filled ? sched.slots.keep(left) : sched.slots.leave(left);
}

void join_leaders(state& sched) {
  if (!sched.within.prefix_caching) return;
  auto& chunks = sched.queued.prefilling;
  for (auto* next = chunks.first(); next;) {
    sequence& seq = *std::exchange(next, chunks.after(*next));
    if (!seq.awaits_prefix) continue;
    if (auto* const leader = leader_of(sched, *seq.awaits_prefix)) {
      branch_at(sched, *leader, seq.awaits_prefix->length);
      continue;
    }
    seq.awaits_prefix.reset();
    if (const auto found = find_known(sched, seq); found.slot >= 0) begin_again(sched, seq, found);
  }
}

bool begin(state& sched, sequence& seq, const step& plan) {
  if (!shares(sched, seq)) return true;
  if (seq.awaits_prefix) return false;
  const auto found = look_up(sched, seq);
  if (is_worth_it(sched, seq, found.length)) {
    if (sched.slots[found.slot].pending) return seq.awaits_prefix.emplace(), false;
    begin_again(sched, seq, found);
  }
  branch_at(sched, seq, found.shared);
  if (follow(sched, seq, plan)) return false;
  look_ahead(sched, seq);
  return true;
}

int until_kept(const state& sched, const sequence& seq) {
  std::int64_t end = std::numeric_limits<int>::max();
  if (const int next = next_kept(sched, seq); next > seq.cached)
    end = std::int64_t{next} + sched.within.max_rollback_tokens;
  if (const int next = next_checkpoint(sched, seq, seq.cached); next > 0) end = std::min<std::int64_t>(end, next);
  return static_cast<int>(std::min<std::int64_t>(end - seq.cached, std::numeric_limits<int>::max()));
}

void take_checkpoint(state& sched, const sequence& seq, step& plan) {
  if (seq.cached == 0 || next_checkpoint(sched, seq, seq.cached - 1) != seq.cached) return;
  const int missing = missing_elsewhere(sched, seq, seq.cached);
  if (!is_negligible(sched, seq, missing, seq.cached)) sched.slots.add_checkpoint(seq.slot, plan);
}

void keep_for_others(state& sched, sequence& seq) {
  for (int length = next_kept(sched, seq); length > 0; length = next_kept(sched, seq)) {
    const bool comes = length > seq.cached;
    const int missing = missing_elsewhere(sched, seq, length);
    const bool held = is_negligible(sched, seq, missing, length);
    if (comes && !held) return;
    if (seq.branch == length) seq.branch = 0;
    std::erase(seq.checkpoints, length);
    if (!held && seq.exact && sched.slots.can_share(seq.slot, length) == length)
      keep_beginning(sched, seq, missing, length);
  }
}

}  // namespace cogen::scheduler
