#include "slot_pool.hpp"

#include <algorithm>
#include <iterator>

namespace cogen::scheduler {

bool slot_pool::is_evictable(int index) const {
  const auto can_go = [&](int reader) { return has_one_user(reader) && (*this)[reader].touched <= absorbed_; };
  const auto reads = [&](int reader) { return (*this)[reader].parent == index && can_go(reader); };
  const slot& seq = (*this)[index];
  if (seq.touched > absorbed_) return false;
  return seq.users == seq.kept || seq.users == std::ranges::count_if(kept_, reads) + seq.kept;
}

int slot_pool::free() const {
  const auto goes = [&](int index) { return is_evictable(index); };
  const auto evicted = std::ranges::count_if(kept_, goes) + std::ranges::count_if(orphans_, goes);
  return static_cast<int>(std::min<std::ptrdiff_t>(usable_slots_ - owned_, std::ssize(free_) + evicted));
}

std::int64_t slot_pool::prefix_cached_bytes() const {
  std::int64_t bytes = 0;
  for (const auto* list : {&kept_, &orphans_})
    for (const int each : *list)
      if (is_evictable(each)) bytes += (*this)[each].bytes;
  return bytes;
}

int slot_pool::kept_readers(int index) const {
  return static_cast<int>(std::ranges::count(kept_, index, [&](int reader) { return (*this)[reader].parent; }));
}

bool slot_pool::only_its_owners(int index) const {
  return has_one_user(index) || (*this)[index].users == 1 + kept_readers(index);
}

void slot_pool::keep(int index, bool branch) {
  slot& left = slot_at(index);
  left.branch = branch;
  --owned_;
  left.owned = false;
  left.kept = true;
  set_aside(left, std::min(left.bytes, bytes(left.length, left.shared)));
  kept_.push_back(index);
}

bool slot_pool::can_take_over(int index, int capacity, int length) const {
  const slot& wanted = (*this)[index];
  const bool settled = std::ranges::find(releases_, index, &release::slot) == releases_.end();
  return wanted.kept && wanted.shared <= length && wanted.length <= capacity && has_one_user(index) && settled &&
         has_free_slot() && memory_.fits(bytes(capacity, wanted.shared) - wanted.bytes + headroom());
}

void slot_pool::take_over(int index, int capacity) {
  slot& taken = slot_at(index);
  ++owned_;
  taken.owned = true;
  taken.kept = false;
  set_aside(taken, bytes(capacity, taken.shared));
  std::erase(kept_, index);
}

void slot_pool::used(int index) {
  slot_at(index).checkpoint_use = ++checkpoint_uses_;
  const auto found = std::ranges::find(kept_, index);
  if (found != kept_.end()) std::rotate(found, found + 1, kept_.end());
}

bool slot_pool::can_be_evicted(int index) const {
  const slot& seq = (*this)[index];
  if (seq.touched > absorbed_) return false;
  return has_one_user(index) || (seq.length > seq.pinned() && can_be_shortened(index));
}

bool slot_pool::evict(int but) {
  const auto goes = [&](int victim) { return victim != but && (but < 0 || (*this)[victim].parent != but); };
  const auto found = std::ranges::find_if(kept_, [&](int victim) { return goes(victim) && can_be_evicted(victim); });
  if (found == kept_.end()) return false;
  const int index = *found;
  if (!has_one_user(index)) {
    shorten(index);
    return true;
  }
  drop_kept(index);
  return true;
}

void slot_pool::drop_kept(int index) {
  std::erase(kept_, index);
  slot_at(index).kept = false;
  drop_user(index);
}

}  // namespace cogen::scheduler
