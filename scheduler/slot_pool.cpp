#include "slot_pool.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace cogen::scheduler {
namespace {

void erase_one(std::vector<int>& from, int value) {
  const auto found = std::find(from.begin(), from.end(), value);
  *found = from.back();
  from.pop_back();
}

/// So that the next push_back() does not allocate.
void make_room(std::vector<int>& in) {
  in.push_back(0);
  in.pop_back();
}

}  // namespace

int slot::pinned() const { return pins.empty() ? 0 : *std::max_element(pins.begin(), pins.end()); }

slot_pool::slot_pool(const limits& within, std::int64_t high)
    : usage_(within.usage),
      max_rollback_tokens_(within.max_rollback_tokens),
      usable_slots_(within.slots),
      headroom_(within.memory_bytes - high),
      memory_(within.memory_bytes),
      checkpoint_usage_(within.checkpoint_usage),
      checkpoint_memory_(within.checkpoint_bytes),
      slots_(static_cast<std::size_t>(within.all_slots())) {
  for (auto* each : {&free_, &draining_, &orphans_, &kept_, &filling_, &moving_, &clears_})
    each->reserve(slots_.size());
  releases_.reserve(slots_.size());
  dropped_.reserve(slots_.size());
  for (int index = static_cast<int>(slots_.size()); index-- > 0;) free_.push_back(index);
}

// Queries

std::int64_t slot_pool::bytes(int capacity, int shared) const {
  return usage_(capacity) - usage_.per_block * (shared / usage_.block);
}

bool slot_pool::fits(int capacity, const slot_fork& first) const {
  return !free_.empty() && memory_.fits(bytes(capacity, first.shared) + headroom());
}

slot_pool::returning slot_pool::will_return() const {
  returning sum{0, 0};
  const auto returns = [&](int index) {
    sum.bytes += (*this)[index].bytes;
    ++sum.slots;
  };
  for (const int index : draining_) returns(index);
  for (const int index : orphans_)
    if (const int readers = kept_readers(index); (*this)[index].users == readers + (*this)[index].moving)
      returns(index);
  for (const int index : kept_)
    if (only_its_owners(index)) returns(index);
  return sum;
}

bool slot_pool::will_fit(int capacity) const {
  if (!has_free_slot()) return false;
  const auto returning = will_return();
  return free_.size() + returning.slots > 0 && memory_.fits(bytes(capacity, 0) + headroom() - returning.bytes);
}

std::int64_t slot_pool::more_for(int index, int tokens) const {
  const slot& seq = (*this)[index];
  return std::max<std::int64_t>(0, bytes(tokens, seq.shared) - seq.bytes);
}

std::int64_t slot_pool::bytes_with(int index, int tokens) const {
  return memory_.used() + more_for(index, tokens) - will_return().bytes;
}

int slot_pool::can_share(int index, int length) const {
  const slot& of = (*this)[index];
  if (of.users == 0 || of.pending || of.moving) return 0;
  const int held = std::min(length, of.length);
  const auto comes = [&](int each) { return each <= held && returns(share(index, each, each)); };
  if (comes(held)) return held;
  const auto found = std::find_if(of.checkpoints.rbegin(), of.checkpoints.rend(), comes);
  return found == of.checkpoints.rend() ? 0 : *found;
}

slot_fork slot_pool::share(int index, int length, int most) const {
  const slot& of = (*this)[index];
  slot_fork result;
  result.end = length;
  if (of.parent >= 0) {
    result.parent = of.parent;
    result.shared = whole_blocks(std::min(most, of.shared));
  } else if (!of.pending) {
    result.parent = index;
    result.shared = whole_blocks(most);
  }
  if (result.shared == 0) result.parent = -1;
  result.from = result.copies() ? source_of(of, index, length) : result.parent;
  return result;
}

// The slot whose tokens are copied: never one that is still to be filled, so the copies of one step do not depend on
// each other.
int slot_pool::source_of(const slot& of, int index, int length) const {
  if (of.parent >= 0 && length <= of.shared) return of.parent;
  return of.pending ? of.pending->from : index;
}

bool slot_pool::goes_back(int index, int length) const {
  const slot& seq = (*this)[index];
  // Until something runs in it, it can be filled with less. Whatever is planned for its source runs later.
  const bool unused = seq.pending && seq.length == seq.pending->end;
  if (unused) return length == seq.length || returns(shortened(*seq.pending, length));
  return goes_back_without_checkpoint(index, length) || std::ranges::binary_search(seq.checkpoints, length);
}

bool slot_pool::goes_back_without_checkpoint(int index, int length) const {
  return length == 0 || length >= std::int64_t{(*this)[index].reach} - max_rollback_tokens_;
}

bool slot_pool::returns(const slot_fork& first) const { return first.end == 0 || goes_back(first.from, first.end); }

bool slot_pool::begins_another(int index) const {
  return std::any_of(filling_.begin(), filling_.end(), [&](int each) { return (*this)[each].pending->from == index; });
}

slot_fork slot_pool::shortened(const slot_fork& pending, int length) const {
  slot_fork changed = pending;
  changed.end = length;
  if (length > changed.shared) return changed;
  changed.shared = whole_blocks(length);
  changed.from = changed.parent;
  return changed;
}

// What the other slot has dropped is not copied from it.
int slot_pool::reach_of(const slot_fork& first) const {
  if (first.end == 0) return 0;
  if (!goes_back_without_checkpoint(first.from, first.end)) return reach_at_checkpoint(first.end);
  return std::max(first.end, (*this)[first.from].reach);
}

bool slot_pool::read_beyond(int index, int length) const {
  return std::any_of(filling_.begin(), filling_.end(), [&](int each) {
    const auto& pending = *(*this)[each].pending;
    return pending.copies() && pending.from == index && pending.end > length;
  });
}

// Slots

void slot_pool::set_aside(slot& seq, std::int64_t bytes) {
  memory_.change(bytes - seq.bytes);
  seq.bytes = bytes;
}

int slot_pool::take(int capacity, const slot_fork& first) {
  if (first.parent >= 0) make_room(at(first.parent).pins);
  const int index = free_.back();
  free_.pop_back();
  slot& taken = at(index);
  ++owned_;
  taken.owned = true;
  taken.users = 1;
  taken.length = first.end;
  taken.reach = reach_of(first);
  taken.shortened = false;
  set_aside(taken, bytes(capacity, first.shared));
  if (first.end == 0) return index;
  pin(index, first.parent, first.shared);
  if (first.copies()) ++at(first.from).users;
  taken.pending = first;
  taken.pending->slot = index;
  filling_.push_back(index);
  return index;
}

bool slot_pool::grow(int index, int tokens) {
  const auto more = more_for(index, tokens);
  if (!memory_.fits(more)) return false;
  set_aside(at(index), at(index).bytes + more);
  return true;
}

void slot_pool::begin_transfer(int index) {
  at(index).moving = true;
  ++at(index).users;
  moving_.push_back(index);
}

void slot_pool::begin_transfer(int index, int length, int reach) {
  begin_transfer(index);
  at(index).length = length;
  at(index).reach = reach;
}

void slot_pool::end_transfer(int index, bool left_empty) {
  at(index).moving = false;
  if (left_empty) at(index).length = at(index).reach = 0;
  drop_user(index);
}

void slot_pool::leave(int index) {
  slot& left = at(index);
  --owned_;
  left.owned = false;
  if (left.users > 1) orphans_.push_back(index);
  drop_user(index);
}

bool slot_pool::can_be_shortened(int index) const {
  const slot& seq = (*this)[index];
  return !seq.moving && !seq.pending && !read_beyond(index, seq.pinned()) && !begins_another(index);
}

void slot_pool::shorten(int index) {
  slot& seq = at(index);
  const int keep = seq.pinned();
  if (seq.length > keep) {
    const auto planned = std::ranges::find(releases_, index, &release::slot);
    planned == releases_.end() ? releases_.push_back({index, keep}) : void(planned->length = keep);
    seq.length = keep;
    seq.shortened = true;
    if (max_rollback_tokens_ < std::numeric_limits<int>::max()) seq.reach = std::numeric_limits<int>::max();
    drop_checkpoints(index, -1);
  }
  set_aside(seq, std::min(seq.bytes, bytes(keep, 0)));
}

void slot_pool::pin(int index, int parent, int shared) {
  at(index).parent = parent;
  at(index).shared = shared;
  if (parent < 0) return;
  at(parent).pins.push_back(shared);
  ++at(parent).users;
}

void slot_pool::unpin(int index) {
  slot& reader = at(index);
  if (reader.parent < 0) return;
  const int parent = std::exchange(reader.parent, -1);
  erase_one(at(parent).pins, std::exchange(reader.shared, 0));
  drop_user(parent);
}

void slot_pool::drop_pending(int index) {
  const auto pending = std::exchange(at(index).pending, std::nullopt);
  erase_one(filling_, index);
  if (pending->copies()) drop_user(pending->from);
}

void slot_pool::drop_user(int index) {
  if (--at(index).users == 0) vacate(index);
}

void slot_pool::vacate(int index) {
  slot& left = at(index);
  if (const auto found = std::find(orphans_.begin(), orphans_.end(), index); found != orphans_.end())
    orphans_.erase(found);
  if (left.pending) {
    drop_pending(index);
    left.length = 0;
  }
  if (left.touched > absorbed_)
    draining_.push_back(index);
  else
    free_again(index);
}

void slot_pool::free_again(int index) {
  slot& left = at(index);
  set_aside(left, 0);
  drop_checkpoints(index, -1);
  std::erase_if(releases_, [&](const release& each) { return each.slot == index; });
  std::erase_if(dropped_, [&](const truncation& each) { return each.slot == index; });
  if (std::exchange(left.length, 0) > 0) clears_.push_back(index);
  free_.push_back(index);
  unpin(index);
}

// Changes of length

bool slot_pool::cut(int index, int length, step& into) {
  slot& seq = at(index);
  if (seq.pending) return cut_pending(index, length);
  if (length < seq.shared && !shrink_base(index, whole_blocks(length), into.number)) return false;
  std::erase_if(dropped_, [&](const truncation& each) { return each.slot == index; });
  into.truncations.push_back({index, length});
  if (!goes_back_without_checkpoint(index, length)) seq.reach = reach_at_checkpoint(length);
  if (length == 0) seq.reach = 0;
  seq.length = length;
  drop_checkpoints(index, length);
  seq.touched = into.number;
  return true;
}

bool slot_pool::cut_pending(int index, int length) {
  slot& seq = at(index);
  slot_fork changed = shortened(*seq.pending, length);
  const auto before = *seq.pending;
  if (changed.copies()) ++at(changed.from).users;
  if (changed.shared < seq.shared && !shrink_base(index, changed.shared, 0)) {
    if (changed.copies()) drop_user(changed.from);
    return false;
  }
  changed.parent = seq.parent;
  seq.pending = changed;
  seq.length = length;
  seq.reach = reach_of(changed);
  if (before.copies()) drop_user(before.from);
  return true;
}

bool slot_pool::shrink_base(int index, int shared, std::uint64_t by) {
  slot& seq = at(index);
  const auto more = usage_.per_block * ((seq.shared - shared) / usage_.block);
  if (!memory_.fits(more)) return false;
  set_aside(seq, seq.bytes + more);
  const int parent = seq.parent;
  at(parent).touched = std::max(at(parent).touched, by);
  ++at(parent).users;
  unpin(index);
  if (shared > 0) pin(index, parent, shared);
  drop_user(parent);
  return true;
}

void slot_pool::drop_drafts(int index, int length) {
  slot& seq = at(index);
  if (goes_back_without_checkpoint(index, length) || seq.pinned() > length || read_beyond(index, length)) return;
  dropped_.push_back({index, length});
  seq.length = length;
  seq.reach = reach_at_checkpoint(length);
}

void slot_pool::append(int index, int count, const step& by) {
  slot& seq = at(index);
  seq.length += count;
  seq.reach = std::max(seq.reach, seq.length);
  seq.touched = by.number;
}

void slot_pool::release_unread() {
  for (const int index : orphans_)
    if (can_be_shortened(index)) shorten(index);
}

// Plans

void slot_pool::settle(step& into) {
  into.clears.insert(into.clears.end(), clears_.begin(), clears_.end());
  clears_.clear();
  into.releases.insert(into.releases.end(), releases_.begin(), releases_.end());
  for (const auto& released : releases_) at(released.slot).touched = into.number;
  releases_.clear();
  into.truncations.insert(into.truncations.end(), dropped_.begin(), dropped_.end());
  for (const auto& each : dropped_) at(each.slot).touched = into.number;
  dropped_.clear();
  for (const int index : filling_) {
    const auto pending = *std::exchange(at(index).pending, std::nullopt);
    at(index).touched = into.number;
    if (pending.end > 0) into.forks.push_back(pending);
    if (pending.parent >= 0) at(pending.parent).touched = into.number;
    if (!pending.copies()) continue;
    at(pending.from).touched = into.number;
    drop_user(pending.from);
  }
  filling_.clear();
  for (const int index : moving_) at(index).touched = into.number;
  moving_.clear();
}

void slot_pool::absorbed(std::uint64_t number) {
  absorbed_ = number;
  std::vector<int> ended;
  std::erase_if(draining_, [&](int index) {
    const bool ends = (*this)[index].touched <= number;
    if (ends) ended.push_back(index);
    return ends;
  });
  for (const int index : ended) free_again(index);
}

}  // namespace cogen::scheduler
