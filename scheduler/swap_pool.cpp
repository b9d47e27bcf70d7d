#include "swap_pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::scheduler {

swap_pool::swap_pool(const limits& within) : memory_(within.swap_bytes) {
  const auto slots = static_cast<std::size_t>(within.all_slots());
  moving_.reserve(slots);
  swap_outs_.reserve(slots);
  swap_ins_.reserve(slots);
}

std::vector<swap_pool::kept>::iterator swap_pool::find(swap_id name) {
  return std::ranges::lower_bound(kept_, name, {}, &kept::name);
}

swap_id swap_pool::keep(std::int64_t bytes, bool wanted) {
  drops_.reserve(drops_.size() + kept_.size() + 1);
  const swap_id name{names_ + 1};
  kept_.push_back({name, bytes, wanted});
  ++names_;
  memory_.change(bytes);
  return name;
}

swap_id swap_pool::take_out(sequence_id seq, int slot, int length, std::int64_t bytes) {
  const swap_id name = keep(bytes, true);
  ++swapped_;
  swap_outs_.push_back({seq, slot, name, length});
  moving_.push_back({name, seq, slot, length, false});
  return name;
}

swap_id swap_pool::copy_out(sequence_id seq, int slot, int length) {
  const swap_id name = keep(0, false);
  swap_outs_.push_back({seq, slot, name, length, true});
  moving_.push_back({name, seq, slot, length, false, true});
  return name;
}

swap_id swap_pool::add(std::int64_t bytes) { return keep(bytes, true); }

void swap_pool::bring_back(swap_id name, sequence_id seq, int slot, int length) {
  swap_ins_.push_back({seq, slot, name, length});
  moving_.push_back({name, seq, slot, length, true});
}

void swap_pool::drop(swap_id name) {
  if (std::ranges::find(moving_, name, &transfer::name) != moving_.end()) {
    find(name)->wanted = false;
    return;
  }
  drops_.push_back(name);
  forget(name);
}

void swap_pool::forget(swap_id name) {
  const auto found = find(name);
  memory_.change(-found->bytes);
  kept_.erase(found);
}

transfer swap_pool::end(swap_id name, bool ok) {
  const auto found = std::ranges::find(moving_, name, &transfer::name);
  if (found == moving_.end())
    throw std::out_of_range("nothing is on its way under swap id " + std::to_string(static_cast<std::uint64_t>(name)));
  const transfer ended = *found;
  moving_.erase(found);
  if (ended.is_in || !ok)
    forget(name);
  else if (!find(name)->wanted)
    drop(name);
  return ended;
}

void swap_pool::settle(step& plan) {
  plan.drops.insert(plan.drops.end(), drops_.begin(), drops_.end());
  plan.swap_outs.insert(plan.swap_outs.end(), swap_outs_.begin(), swap_outs_.end());
  plan.swap_ins.insert(plan.swap_ins.end(), swap_ins_.begin(), swap_ins_.end());
  drops_.clear();
  swap_outs_.clear();
  swap_ins_.clear();
}

void swap_pool::verify() const {
  std::int64_t bytes = 0;
  for (const auto& each : kept_) bytes += each.bytes;
  if (bytes != memory_.used()) throw std::logic_error("the account of the swapped out differs from what is kept");
  if (!memory_.fits(0)) throw std::logic_error("the swapped out take more than their budget");
  for (const auto& each : moving_)
    if (!std::ranges::binary_search(kept_, each.name, {}, &kept::name))
      throw std::logic_error("something is on its way that is not kept");
}

}  // namespace cogen::scheduler
