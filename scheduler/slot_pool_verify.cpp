#include "require.hpp"
#include "slot_pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::scheduler {
namespace {

int times(const std::vector<int>& in, int value) { return static_cast<int>(std::count(in.begin(), in.end(), value)); }

}  // namespace

void slot_pool::verify() const {
  std::vector<std::vector<int>> pins(slots_.size());
  std::vector<int> copies(slots_.size());
  std::int64_t bytes = 0, checkpoint_bytes = 0;
  for (const slot& each : slots_) {
    if (each.parent >= 0) pins[static_cast<std::size_t>(each.parent)].push_back(each.shared);
    if (each.pending && each.pending->copies()) ++copies[static_cast<std::size_t>(each.pending->source)];
    bytes += each.bytes;
    for (const int length : each.checkpoints) checkpoint_bytes += checkpoint_usage_(length);
  }
  if (bytes != memory_.used()) throw std::logic_error("the memory account differs from the sum over the slots");
  if (checkpoint_bytes != checkpoint_memory_.used())
    throw std::logic_error("the account of checkpoints differs from the sum over the slots");
  if (!checkpoint_memory_.fits(0)) throw std::logic_error("checkpoints take more than their budget");
  if (owned_ != std::ranges::count(slots_, true, &slot::owned)) throw std::logic_error("owned slots are miscounted");
  if (owned_ > usable_slots_) throw std::logic_error("more slots are owned than may be");
  if (!memory_.fits(0)) throw std::logic_error("the memory account is over its budget");

  for (int index = 0; index < static_cast<int>(slots_.size()); ++index) {
    const slot& entry = (*this)[index];
    auto& expected = pins[static_cast<std::size_t>(index)];
    const auto readers = static_cast<int>(expected.size());
    require(std::is_permutation(entry.pins.begin(), entry.pins.end(), expected.begin(), expected.end()),
            "the pins are not those of the slots that read it", index);
    require(entry.users == readers + copies[static_cast<std::size_t>(index)] + entry.owned + entry.kept + entry.moving,
            "its users are not counted right", index);
    require(times(free_, index) + times(draining_, index) == (entry.users == 0), "it is lost, or listed twice", index);
    require(!entry.owned || !entry.kept, "it is owned and kept", index);
    require(times(kept_, index) == entry.kept, "what is kept in it is lost, or listed twice", index);
    require(times(orphans_, index) == (entry.users > 0 && !entry.owned && !entry.kept),
            "an orphan is lost, or listed twice", index);
    require(times(filling_, index) == entry.pending.has_value(), "a pending fill is lost, or listed twice", index);
    require(times(free_, index) == 0 || (entry.bytes == 0 && entry.length == 0), "it is free and not empty", index);
    require(entry.parent < 0 || (*this)[entry.parent].parent < 0, "its base has a base", index);
    require(entry.parent < 0 || (entry.shared > 0 && entry.shared % usage_.block == 0 && entry.shared <= entry.length),
            "it shares part of a block", index);
    require(entry.checkpoints.empty() || entry.checkpoints.back() <= entry.length, "a checkpoint is beyond its end",
            index);
    require(entry.pinned() <= entry.length, "others read what it does not hold", index);
  }
}

}  // namespace cogen::scheduler
