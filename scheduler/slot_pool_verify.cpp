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
    if (each.pending && each.pending->copies()) ++copies[static_cast<std::size_t>(each.pending->from)];
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
    const slot& each = (*this)[index];
    auto& expected = pins[static_cast<std::size_t>(index)];
    const auto readers = static_cast<int>(expected.size());
    require(std::is_permutation(each.pins.begin(), each.pins.end(), expected.begin(), expected.end()),
            "the pins are not those of the slots that read it", index);
    require(each.users == readers + copies[static_cast<std::size_t>(index)] + each.owned + each.kept + each.moving,
            "its users are not counted right", index);
    require(times(free_, index) + times(draining_, index) == (each.users == 0), "it is lost, or listed twice", index);
    require(!each.owned || !each.kept, "it is owned and kept", index);
    require(times(kept_, index) == each.kept, "what is kept in it is lost, or listed twice", index);
    require(times(orphans_, index) == (each.users > 0 && !each.owned && !each.kept),
            "an orphan is lost, or listed twice", index);
    require(times(filling_, index) == each.pending.has_value(), "a pending fill is lost, or listed twice", index);
    require(times(free_, index) == 0 || (each.bytes == 0 && each.length == 0), "it is free and not empty", index);
    require(each.parent < 0 || (*this)[each.parent].parent < 0, "its base has a base", index);
    require(each.parent < 0 || (each.shared > 0 && each.shared % usage_.block == 0 && each.shared <= each.length),
            "it shares part of a block", index);
    require(each.checkpoints.empty() || each.checkpoints.back() <= each.length, "a checkpoint is beyond its end",
            index);
    require(each.pinned() <= each.length, "others read what it does not hold", index);
  }
}

}  // namespace cogen::scheduler
