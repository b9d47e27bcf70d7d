#include "prefix_cache.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace cogen::scheduler {
namespace {

bool shares(const state& all, const sequence& seq) {
  return all.within.prefix_caching && seq.options.prefix_caching && !seq.options.encoder_input;
}

/// Whether others may share what it runs.
bool offers(const state& all, const sequence& seq) { return shares(all, seq) && seq.exact; }

/// The last token is always run.
std::span<const token> all_but_last(const sequence& seq) { return {seq.tokens.data(), seq.tokens.size() - 1}; }

/// And so are those fed for the logits of each, or to be scored.
std::span<const token> to_begin_with(const sequence& seq) {
  const auto most = all_but_last(seq);
  const auto before = static_cast<std::size_t>(seq.current.length_before);
  return seq.current.wanted == output::all_logits || seq.scores() ? most.first(std::min(most.size(), before)) : most;
}

int shared(const sequence& follower, const sequence& leader) {
  if (follower.options.cache_salt != leader.options.cache_salt) return 0;
  const auto first = to_begin_with(follower);
  return static_cast<int>(std::ranges::mismatch(first, all_but_last(leader)).in1 - first.begin());
}

int least_shared(const state& all, const sequence& seq) {
  return seq.options.least_shared > 0 ? seq.options.least_shared : all.within.least_shared();
}

bool is_worth_it(const state& all, const sequence& seq, int length) {
  return length >= seq.cached + least_shared(all, seq);
}

/// The shortest prefix that it waits for.
int least_awaited(const state& all, const sequence& seq) {
  if (seq.options.least_shared > 0) return seq.cached + seq.options.least_shared;
  const int block = all.within.prefix_block();
  return seq.cached < block ? block : seq.cached + block;
}

/// What other slots hold of tokens, first ones of the sequence; includes what is kept from this step on.
prefix_match look_up(const state& all, const sequence& seq, std::span<const token> tokens) {
  const auto usable = [&](int slot, int length) {
    if (slot == seq.slot) return 0;
    const bool comes = all.slots[slot].kept && all.slots[slot].pending;
    return comes ? length : all.slots.can_share(slot, length);
  };
  return all.known.find(seq.options.cache_salt, tokens, usable);
}

prefix_match look_up(const state& all, const sequence& seq) { return look_up(all, seq, to_begin_with(seq)); }

// Slots that share what others hold

/// Less than a block is lost if the slot is taken over.
bool is_continued(const state& all, const prefix_match& found) {
  const slot& of = all.slots[found.slot];
  return !of.branch && of.length < found.length + all.within.prefix_block();
}

bool take_over(state& all, sequence& seq, int tokens, const prefix_match& found) {
  if (!all.slots.can_take_over(found.slot, tokens, found.length)) return false;
  all.slots.take_over(found.slot, tokens);
  seq.reserved = tokens;
  all.known.cut(found.slot, found.length);
  all.changes.set_slot(seq, found.slot);
  return true;
}

bool share(state& all, sequence& seq, int tokens, const prefix_match& found) {
  const auto first = all.slots.share(found.slot, found.length, found.length);
  if (!reclaim(all, tokens, first, found.slot) || !all.slots.returns(first)) return false;
  all.slots.used(found.slot);
  take_slot(all, seq, tokens, first);
  return true;
}

/// It has run nothing in its slot, and returns it for one that takes no more memory.
void begin_again(state& all, sequence& seq, const prefix_match& found) {
  const slot& of = all.slots[found.slot];
  const auto first = all.slots.share(found.slot, found.length, found.length);
  const bool stays = of.owned || of.kept;
  if (!stays || !all.slots.is_settled(seq.slot) || first.shared < all.slots[seq.slot].shared) return;
  all.slots.used(found.slot);
  all.slots.leave(seq.slot);
  take_slot(all, seq, seq.reserved, first);
  seq.cached = found.length;
  all.queued.drop(seq, seq.work());
  all.queued.place(seq);
}

// Leaders

/// Others diverge from it there, and may need what its slot holds then.
void branch_at(const state& all, sequence& seq, int length) {
  if (goes_back_anywhere(all) || !is_worth_it(all, seq, length)) return;
  if (seq.branch <= seq.cached || length < seq.branch) seq.branch = length;
}

/// Whether the leader's slot can be shared that far once it has run what is planned, or more.
bool comes_to(const state& all, const sequence& leader, int length) {
  return length >= leader.cached || all.slots.goes_back(leader.slot, length);
}

/// Null if no sequence runs what it waits for.
sequence* leader_of(state& all, const following& what) {
  const auto found = all.sequences.find(what.leader);
  if (found == all.sequences.end()) return nullptr;
  sequence& leader = found->second;
  const bool same = leader.ready() && leader.current.arrival == what.arrival;
  const bool runs = same && leader.slot >= 0 && leader.served == all.plans;
  return runs && all.known.length(leader.slot) < what.length && comes_to(all, leader, what.length) ? &leader : nullptr;
}

/// True if it has found a leader.
bool follow(state& all, sequence& seq, const step& made) {
  int most = least_awaited(all, seq) - 1;
  for (const row& each : made.rows) {
    if (each.count == 1 + each.drafts) continue;
    sequence& leader = all.sequences.at(each.sequence);
    const int both = offers(all, leader) ? shared(seq, leader) : 0;
    if (both <= most) continue;
    if (comes_to(all, leader, both)) {
      seq.awaits_prefix = {leader.id, leader.current.arrival, most = both};
      branch_at(all, leader, both);
    } else {
      branch_at(all, seq, both);
    }
  }
  return seq.awaits_prefix.has_value();
}

/// Later sequences may diverge from it, and would arrive too late to say so.
void look_ahead(state& all, sequence& seq) {
  if (goes_back_anywhere(all) || seq.where != phase::prefilling) return;
  const auto& chunks = all.queued.prefilling;
  for (const auto* next = chunks.after(seq); next; next = chunks.after(*next))
    if (next->fresh && shares(all, *next)) branch_at(all, seq, shared(*next, seq));
}

// What is kept of a slot that cannot be cut back later

/// The least length at which something is to be kept; 0: nowhere.
int next_kept(const state& all, const sequence& seq) {
  const bool keeps = offers(all, seq) && !goes_back_anywhere(all) && !seq.checkpoints.empty();
  if (!keeps) return seq.branch;
  return seq.branch > 0 ? std::min(seq.branch, seq.checkpoints.front()) : seq.checkpoints.front();
}

/// The next length above this one at which what a slot holds is kept. From one to the next it is the interval, or up to
/// a twentieth of the length.
int next_checkpoint(const state& all, int length) {
  std::int64_t between = all.within.checkpoint_interval;
  while (between * 2 <= length / 20) between *= 2;
  return static_cast<int>(std::min<std::int64_t>((length / between + 1) * between, std::numeric_limits<int>::max()));
}

/// The same of a prompt of the sequence that others may share; 0: nowhere.
int next_checkpoint(const state& all, const sequence& seq, int length) {
  if (all.within.checkpoint_bytes == 0 || goes_back_anywhere(all) || !offers(all, seq)) return 0;
  const int next = next_checkpoint(all, length);
  const bool fits = all.within.checkpoint_usage(next) <= all.within.checkpoint_bytes;
  return fits && next < seq.current.length_fed ? next : 0;
}

/// How many of its first `length` tokens no other slot holds.
int missing_elsewhere(const state& all, const sequence& seq, int length) {
  const auto first = std::span(seq.tokens).first(static_cast<std::size_t>(length));
  return length - look_up(all, seq, first).length;
}

/// Whether that is too little to keep more: a twentieth is run again, or less than a block of long ones.
bool is_negligible(const state& all, const sequence& seq, int missing, int length) {
  if (seq.options.least_shared > 0) return missing < seq.options.least_shared;
  return missing <= std::min(length / 20, all.within.prefix_block() - 1);
}

/// Drops what others have left only to save a block or more.
void keep_beginning(state& all, const sequence& seq, int missing, int length) {
  // At least one token is copied, together with state that is valid only at this length.
  const auto first = all.slots.share(seq.slot, length, length - 1);
  const bool is_much = missing >= all.within.prefix_block() || seq.options.least_shared > 0;
  const bool fits = is_much ? reclaim(all, length, first) : all.slots.fits(length, first);
  if (!fits || !all.slots.returns(first)) return;
  const int kept = take_unknown(all, length, first);
  all.known.hold(kept, seq.options.cache_salt, seq.tokens.first(static_cast<std::size_t>(length)));
  all.slots.keep(kept, true);
}

}  // namespace

prefix_match find_known(const state& all, const sequence& seq) {
  if (!shares(all, seq)) return {};
  const auto found = look_up(all, seq);
  return is_worth_it(all, seq, found.length) ? found : prefix_match{};
}

int find_shareable(const state& all, const cache_salt& salt, std::span<const token> tokens) {
  const auto usable = [&](int slot, int length) { return all.slots.can_share(slot, length); };
  return all.known.find(salt, tokens, usable).length;
}

shareable_prefix held_for_others(const state& all, int slot) noexcept {
  const auto& held = all.slots[slot];  // what has no user is about to be cleared
  const int length = held.users > 0 ? held.length : 0;
  return {all.known.salt(slot), all.known.tokens(slot).first(static_cast<std::size_t>(length))};
}

bool admit_with(state& all, sequence& seq, int tokens, const prefix_match& found) {
  const bool scheduled = (is_continued(all, found) && take_over(all, seq, tokens, found)) ||
                         share(all, seq, tokens, found) || take_over(all, seq, tokens, found);
  if (scheduled) seq.cached = found.length;
  return scheduled;
}

bool reclaim(state& all, int capacity, const slot_fork& first, int but) {
  while (!all.slots.fits(capacity, first))
    if (!all.slots.evict(but)) return false;
  return true;
}

int take_unknown(state& all, int capacity, const slot_fork& first) {
  const int slot = all.slots.take(capacity, first);
  all.known.forget(slot);
  return slot;
}

void take_slot(state& all, sequence& seq, int tokens, const slot_fork& first) {
  seq.reserved = tokens;
  all.changes.set_slot(seq, take_unknown(all, tokens, first));
}

void learn(state& all, const sequence& seq) {
  if (!offers(all, seq)) return;
  const auto count = static_cast<std::size_t>(std::min(seq.cached, seq.length()));
  const auto held = static_cast<std::size_t>(all.known.length(seq.slot));
  if (held == 0)
    all.known.hold(seq.slot, seq.options.cache_salt, seq.tokens.first(count));
  else if (held < count)
    all.known.extend(seq.slot, std::span(seq.tokens).subspan(held, count - held));
}

void leave_slot(state& all, sequence& seq) {
  const int left = all.changes.set_slot(seq, -1);
  const slot& of = all.slots[left];
  const bool filled = !of.pending && !of.moving && all.known.length(left) >= least_shared(all, seq);
  shares(all, seq) && filled ? all.slots.keep(left) : all.slots.leave(left);
}

void join_leaders(state& all) {
  if (!all.within.prefix_caching) return;
  auto& chunks = all.queued.prefilling;
  for (auto* each = chunks.first(); each;) {
    sequence& seq = *std::exchange(each, chunks.after(*each));
    if (!seq.awaits_prefix) continue;
    if (auto* const leader = leader_of(all, *seq.awaits_prefix)) {
      branch_at(all, *leader, seq.awaits_prefix->length);
      continue;
    }
    seq.awaits_prefix.reset();
    if (const auto found = find_known(all, seq); found.slot >= 0) begin_again(all, seq, found);
  }
}

bool begin(state& all, sequence& seq, const step& made) {
  if (!shares(all, seq)) return true;
  if (seq.awaits_prefix) return false;
  const auto found = look_up(all, seq);
  if (is_worth_it(all, seq, found.length)) {
    if (all.slots[found.slot].pending) return seq.awaits_prefix.emplace(), false;
    begin_again(all, seq, found);
  }
  branch_at(all, seq, found.shared);
  if (follow(all, seq, made)) return false;
  look_ahead(all, seq);
  return true;
}

int until_kept(const state& all, const sequence& seq) {
  std::int64_t end = std::numeric_limits<int>::max();
  if (const int next = next_kept(all, seq); next > seq.cached)
    end = std::int64_t{next} + all.within.max_rollback_tokens;
  if (const int next = next_checkpoint(all, seq, seq.cached); next > 0) end = std::min<std::int64_t>(end, next);
  return static_cast<int>(std::min<std::int64_t>(end - seq.cached, std::numeric_limits<int>::max()));
}

void take_checkpoint(state& all, const sequence& seq, step& into) {
  if (seq.cached == 0 || next_checkpoint(all, seq, seq.cached - 1) != seq.cached) return;
  const int missing = missing_elsewhere(all, seq, seq.cached);
  if (!is_negligible(all, seq, missing, seq.cached)) all.slots.add_checkpoint(seq.slot, into);
}

void keep_for_others(state& all, sequence& seq) {
  for (int length = next_kept(all, seq); length > 0; length = next_kept(all, seq)) {
    const bool comes = length > seq.cached;
    const int missing = missing_elsewhere(all, seq, length);
    const bool held = is_negligible(all, seq, missing, length);
    if (comes && !held) return;
    if (seq.branch == length) seq.branch = 0;
    std::erase(seq.checkpoints, length);
    if (!held && seq.exact && all.slots.can_share(seq.slot, length) == length)
      keep_beginning(all, seq, missing, length);
  }
}

}  // namespace cogen::scheduler
