#include "spill_pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::scheduler {

spill_pool::spill_pool(const limits& within) : memory_(within.spill_bytes) {
  const auto slots = static_cast<std::size_t>(within.all_slots());
  moving_.reserve(slots);
  spills_.reserve(slots);
  restores_.reserve(slots);
}

std::vector<spill_pool::kept>::iterator spill_pool::find(ticket name) {
  return std::ranges::lower_bound(kept_, name, {}, &kept::name);
}

ticket spill_pool::keep(std::int64_t bytes, bool wanted) {
  drops_.reserve(drops_.size() + kept_.size() + 1);
  const ticket name{names_ + 1};
  kept_.push_back({name, bytes, wanted});
  ++names_;
  memory_.change(bytes);
  return name;
}

ticket spill_pool::take_out(sequence_id whose, int slot, int length, std::int64_t bytes) {
  const ticket name = keep(bytes, true);
  ++spilled_;
  spills_.push_back({whose, slot, name, length});
  moving_.push_back({name, whose, slot, false});
  return name;
}

ticket spill_pool::copy_out(sequence_id whose, int slot, int length) {
  const ticket name = keep(0, false);
  spills_.push_back({whose, slot, name, length, true});
  moving_.push_back({name, whose, slot, false});
  return name;
}

ticket spill_pool::take_in(std::int64_t bytes) { return keep(bytes, true); }

void spill_pool::bring_back(ticket name, sequence_id whose, int slot, int length) {
  restores_.push_back({whose, slot, name, length});
  moving_.push_back({name, whose, slot, true});
}

void spill_pool::drop(ticket name) {
  if (std::ranges::find(moving_, name, &transfer::name) != moving_.end()) {
    find(name)->wanted = false;
    return;
  }
  drops_.push_back(name);
  forget(name);
}

void spill_pool::forget(ticket name) {
  const auto found = find(name);
  memory_.change(-found->bytes);
  kept_.erase(found);
}

transfer spill_pool::end(ticket name, bool ok) {
  const auto found = std::ranges::find(moving_, name, &transfer::name);
  if (found == moving_.end())
    throw std::out_of_range("nothing is on its way under ticket " + std::to_string(static_cast<std::uint64_t>(name)));
  const transfer ended = *found;
  moving_.erase(found);
  if (ended.restores || !ok)
    forget(name);
  else if (!find(name)->wanted)
    drop(name);
  return ended;
}

void spill_pool::settle(plan& into) {
  into.drops.insert(into.drops.end(), drops_.begin(), drops_.end());
  into.spills.insert(into.spills.end(), spills_.begin(), spills_.end());
  into.restores.insert(into.restores.end(), restores_.begin(), restores_.end());
  drops_.clear();
  spills_.clear();
  restores_.clear();
}

void spill_pool::verify() const {
  std::int64_t bytes = 0;
  for (const auto& each : kept_) bytes += each.bytes;
  if (bytes != memory_.used()) throw std::logic_error("the account of the spilled differs from what is kept");
  if (!memory_.fits(0)) throw std::logic_error("the spilled take more than their budget");
  for (const auto& each : moving_)
    if (!std::ranges::binary_search(kept_, each.name, {}, &kept::name))
      throw std::logic_error("something is on its way that is not kept");
}

}  // namespace cogen::scheduler
