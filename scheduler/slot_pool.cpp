#include "slot_pool.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace cogen::scheduler {
namespace {

void erase_one(std::vector<int>& list, int value) {
  const auto found = std::find(list.begin(), list.end(), value);
  *found = list.back();
  list.pop_back();
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

slot_pool::room slot_pool::reclaimable() const {
  room sum{0, 0};
  const auto add = [&](int index) {
    sum.bytes += (*this)[index].bytes;
    ++sum.slots;
  };
  for (const int index : draining_) add(index);
  for (const int index : orphans_)
    if (const int readers = kept_readers(index); (*this)[index].users == readers + (*this)[index].moving) add(index);
  for (const int index : kept_)
    if (only_its_owners(index)) add(index);
  return sum;
}

bool slot_pool::will_fit(int capacity) const {
  if (!has_free_slot()) return false;
  const auto later = reclaimable();
  return free_.size() + later.slots > 0 && memory_.fits(bytes(capacity, 0) + headroom() - later.bytes);
}

std::int64_t slot_pool::more_for(int index, int tokens) const {
  const slot& seq = (*this)[index];
  return std::max<std::int64_t>(0, bytes(tokens, seq.shared) - seq.bytes);
}

std::int64_t slot_pool::bytes_with(int index, int tokens) const {
  return memory_.used() + more_for(index, tokens) - reclaimable().bytes;
}

int slot_pool::can_share(int index, int length) const {
  const slot& source = (*this)[index];
  if (source.users == 0 || source.pending || source.moving) return 0;
  const int held = std::min(length, source.length);
  const auto comes = [&](int prefix_length) {
    return prefix_length <= held && returns(plan_fork(index, prefix_length, prefix_length));
  };
  if (comes(held)) return held;
  const auto found = std::find_if(source.checkpoints.rbegin(), source.checkpoints.rend(), comes);
  return found == source.checkpoints.rend() ? 0 : *found;
}

slot_fork slot_pool::plan_fork(int index, int length, int most) const {
  const slot& source = (*this)[index];
  slot_fork result;
  result.end = length;
  if (source.parent >= 0) {
    result.parent = source.parent;
    result.shared = whole_blocks(std::min(most, source.shared));
  } else if (!source.pending) {
    result.parent = index;
    result.shared = whole_blocks(most);
  }
  if (result.shared == 0) result.parent = -1;
  result.source = result.copies() ? source_of(source, index, length) : result.parent;
  return result;
}

// The slot whose tokens are copied: never one that is still to be filled, so the copies of one step do not depend on
// each other.
int slot_pool::source_of(const slot& source, int index, int length) const {
  if (source.parent >= 0 && length <= source.shared) return source.parent;
  return source.pending ? source.pending->source : index;
}

bool slot_pool::goes_back(int index, int length) const {
  const slot& seq = (*this)[index];
  // Until something runs in it, it can be filled with less. Whatever is planned for its source runs later.
  const bool unused = seq.pending && seq.length == seq.pending->end;
  if (unused) return length == seq.length || returns(shortened(*seq.pending, length));
  return can_rewind(index, length) || std::ranges::binary_search(seq.checkpoints, length);
}

bool slot_pool::can_rewind(int index, int length) const {
  return length == 0 || length >= std::int64_t{(*this)[index].high_water_mark} - max_rollback_tokens_;
}

bool slot_pool::returns(const slot_fork& first) const { return first.end == 0 || goes_back(first.source, first.end); }

bool slot_pool::begins_another(int index) const {
  return std::any_of(filling_.begin(), filling_.end(),
                     [&](int target) { return (*this)[target].pending->source == index; });
}

slot_fork slot_pool::shortened(const slot_fork& pending, int length) const {
  slot_fork changed = pending;
  changed.end = length;
  if (length > changed.shared) return changed;
  changed.shared = whole_blocks(length);
  changed.source = changed.parent;
  return changed;
}

// What the other slot has dropped is not copied from it.
int slot_pool::reach_of(const slot_fork& first) const {
  if (first.end == 0) return 0;
  if (!can_rewind(first.source, first.end)) return reach_at_checkpoint(first.end);
  return std::max(first.end, (*this)[first.source].high_water_mark);
}

bool slot_pool::read_beyond(int index, int length) const {
  return std::any_of(filling_.begin(), filling_.end(), [&](int target) {
    const auto& pending = *(*this)[target].pending;
    return pending.copies() && pending.source == index && pending.end > length;
  });
}

// Slots

void slot_pool::set_aside(slot& seq, std::int64_t bytes) {
  memory_.change(bytes - seq.bytes);
  seq.bytes = bytes;
}

int slot_pool::take(int capacity, const slot_fork& first) {
  if (first.parent >= 0) make_room(slot_at(first.parent).pins);
  const int index = free_.back();
  free_.pop_back();
  slot& taken = slot_at(index);
  ++owned_;
  taken.owned = true;
  taken.users = 1;
  taken.length = first.end;
  taken.high_water_mark = reach_of(first);
  taken.shortened = false;
  set_aside(taken, bytes(capacity, first.shared));
  if (first.end == 0) return index;
  pin(index, first.parent, first.shared);
  if (first.copies()) ++slot_at(first.source).users;
  taken.pending = first;
  taken.pending->slot = index;
  filling_.push_back(index);
  return index;
}

bool slot_pool::grow(int index, int tokens) {
  const auto more = more_for(index, tokens);
  if (!memory_.fits(more)) return false;
  set_aside(slot_at(index), slot_at(index).bytes + more);
  return true;
}

void slot_pool::begin_transfer(int index) {
  slot_at(index).moving = true;
  ++slot_at(index).users;
  moving_.push_back(index);
}

void slot_pool::begin_transfer(int index, int length, int high_water_mark) {
  begin_transfer(index);
  slot_at(index).length = length;
  slot_at(index).high_water_mark = high_water_mark;
}

void slot_pool::end_transfer(int index, bool left_empty) {
  slot_at(index).moving = false;
  if (left_empty) slot_at(index).length = slot_at(index).high_water_mark = 0;
  drop_user(index);
}

void slot_pool::leave(int index) {
  slot& left = slot_at(index);
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
  slot& seq = slot_at(index);
  const int keep = seq.pinned();
  if (seq.length > keep) {
    const auto planned = std::ranges::find(releases_, index, &release::slot);
    planned == releases_.end() ? releases_.push_back({index, keep}) : void(planned->length = keep);
    seq.length = keep;
    seq.shortened = true;
    if (max_rollback_tokens_ < std::numeric_limits<int>::max()) seq.high_water_mark = std::numeric_limits<int>::max();
    drop_checkpoints(index, -1);
  }
  set_aside(seq, std::min(seq.bytes, bytes(keep, 0)));
}

void slot_pool::pin(int index, int parent, int shared) {
  slot_at(index).parent = parent;
  slot_at(index).shared = shared;
  if (parent < 0) return;
  slot_at(parent).pins.push_back(shared);
  ++slot_at(parent).users;
}

void slot_pool::unpin(int index) {
  slot& reader = slot_at(index);
  if (reader.parent < 0) return;
  const int parent = std::exchange(reader.parent, -1);
  erase_one(slot_at(parent).pins, std::exchange(reader.shared, 0));
  drop_user(parent);
}

void slot_pool::drop_pending(int index) {
  const auto pending = std::exchange(slot_at(index).pending, std::nullopt);
  erase_one(filling_, index);
  if (pending->copies()) drop_user(pending->source);
}

void slot_pool::drop_user(int index) {
  if (--slot_at(index).users == 0) vacate(index);
}

void slot_pool::vacate(int index) {
  slot& left = slot_at(index);
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
  slot& left = slot_at(index);
  set_aside(left, 0);
  drop_checkpoints(index, -1);
  std::erase_if(releases_, [&](const release& entry) { return entry.slot == index; });
  std::erase_if(dropped_, [&](const truncation& entry) { return entry.slot == index; });
  if (std::exchange(left.length, 0) > 0) clears_.push_back(index);
  free_.push_back(index);
  unpin(index);
}

// Changes of length

bool slot_pool::cut(int index, int length, step& plan) {
  slot& seq = slot_at(index);
  if (seq.pending) return cut_pending(index, length);
  if (length < seq.shared && !shrink_base(index, whole_blocks(length), plan.number)) return false;
  std::erase_if(dropped_, [&](const truncation& entry) { return entry.slot == index; });
  plan.truncations.push_back({index, length});
  if (!can_rewind(index, length)) seq.high_water_mark = reach_at_checkpoint(length);
  if (length == 0) seq.high_water_mark = 0;
  seq.length = length;
  drop_checkpoints(index, length);
  seq.touched = plan.number;
  return true;
}

bool slot_pool::cut_pending(int index, int length) {
  slot& seq = slot_at(index);
  slot_fork changed = shortened(*seq.pending, length);
  const auto previous = *seq.pending;
  if (changed.copies()) ++slot_at(changed.source).users;
  if (changed.shared < seq.shared && !shrink_base(index, changed.shared, 0)) {
    if (changed.copies()) drop_user(changed.source);
    return false;
  }
  changed.parent = seq.parent;
  seq.pending = changed;
  seq.length = length;
  seq.high_water_mark = reach_of(changed);
  if (previous.copies()) drop_user(previous.source);
  return true;
}

bool slot_pool::shrink_base(int index, int shared, std::uint64_t step_number) {
  slot& seq = slot_at(index);
  const auto more = usage_.per_block * ((seq.shared - shared) / usage_.block);
  if (!memory_.fits(more)) return false;
  set_aside(seq, seq.bytes + more);
  const int parent = seq.parent;
  slot_at(parent).touched = std::max(slot_at(parent).touched, step_number);
  ++slot_at(parent).users;
  unpin(index);
  if (shared > 0) pin(index, parent, shared);
  drop_user(parent);
  return true;
}

void slot_pool::drop_drafts(int index, int length) {
  slot& seq = slot_at(index);
  if (can_rewind(index, length) || seq.pinned() > length || read_beyond(index, length)) return;
  dropped_.push_back({index, length});
  seq.length = length;
  seq.high_water_mark = reach_at_checkpoint(length);
}

void slot_pool::append(int index, int count, const step& plan) {
  slot& seq = slot_at(index);
  seq.length += count;
  seq.high_water_mark = std::max(seq.high_water_mark, seq.length);
  seq.touched = plan.number;
}

void slot_pool::release_unread() {
  for (const int index : orphans_)
    if (can_be_shortened(index)) shorten(index);
}

// Plans

void slot_pool::settle(step& plan) {
  plan.clears.insert(plan.clears.end(), clears_.begin(), clears_.end());
  clears_.clear();
  plan.releases.insert(plan.releases.end(), releases_.begin(), releases_.end());
  for (const auto& released : releases_) slot_at(released.slot).touched = plan.number;
  releases_.clear();
  plan.truncations.insert(plan.truncations.end(), dropped_.begin(), dropped_.end());
  for (const auto& each : dropped_) slot_at(each.slot).touched = plan.number;
  dropped_.clear();
  for (const int index : filling_) {
    const auto pending = *std::exchange(slot_at(index).pending, std::nullopt);
    slot_at(index).touched = plan.number;
    if (pending.end > 0) plan.forks.push_back(pending);
    if (pending.parent >= 0) slot_at(pending.parent).touched = plan.number;
    if (!pending.copies()) continue;
    slot_at(pending.source).touched = plan.number;
    drop_user(pending.source);
  }
  filling_.clear();
  for (const int index : moving_) slot_at(index).touched = plan.number;
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
