#include "slot_pool.hpp"

#include <algorithm>
#include <limits>

namespace cogen::scheduler {
namespace {

constexpr std::int64_t max_tokens = std::numeric_limits<int>::max();

/// How many tokens are run again without this checkpoint, on average, if prompts part at a length in inverse proportion
/// to it.
double loss_without(const slot& owner, std::size_t checkpoint) {
  const auto& lengths = owner.checkpoints;
  const int previous = checkpoint == 0 ? 0 : lengths[checkpoint - 1];
  const int after = checkpoint + 1 < lengths.size() ? lengths[checkpoint + 1] : owner.length;
  return static_cast<double>(lengths[checkpoint] - previous) * (after - lengths[checkpoint]) / after;
}

}  // namespace

void slot_pool::add_checkpoint(int index, step& plan) {
  slot& seq = slot_at(index);
  const auto bytes = checkpoint_usage_(seq.length);
  if (seq.pending || std::ranges::binary_search(seq.checkpoints, seq.length)) return;
  seq.checkpoint_use = ++checkpoint_uses_;
  while (!checkpoint_memory_.fits(bytes))
    if (!drop_a_checkpoint(plan)) return;
  seq.checkpoints.push_back(seq.length);
  checkpoint_memory_.change(bytes);
  plan.checkpoints.push_back({index, seq.length});
}

void slot_pool::forget_checkpoint(int index, int length) noexcept {
  const auto lost = std::erase(slot_at(index).checkpoints, length);
  checkpoint_memory_.change(-checkpoint_usage_(length) * static_cast<std::int64_t>(lost));
}

bool slot_pool::begins_another_at(int index, int length) const {
  return std::ranges::any_of(filling_, [&](int target) {
    const auto& pending = *(*this)[target].pending;
    return pending.source == index && pending.end == length;
  });
}

/// What is restored there can go back no further.
int slot_pool::reach_at_checkpoint(int length) const {
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{length} + max_rollback_tokens_, max_tokens));
}

void slot_pool::drop_checkpoints(int index, int beyond) noexcept {
  auto& lengths = slot_at(index).checkpoints;
  for (; !lengths.empty() && lengths.back() > beyond; lengths.pop_back())
    checkpoint_memory_.change(-checkpoint_usage_(lengths.back()));
}

/// Of the slot used longest ago, the one whose loss costs least. A slot that this step fills from it still needs it.
bool slot_pool::drop_a_checkpoint(step& plan) {
  int victim = -1;
  std::size_t least = 0;
  for (int index = 0; index < static_cast<int>(slots_.size()); ++index) {
    const slot& entry = (*this)[index];
    const bool sooner = victim >= 0 && entry.checkpoint_use > (*this)[victim].checkpoint_use;
    for (std::size_t i = 0; !sooner && i < entry.checkpoints.size(); ++i) {
      if (begins_another_at(index, entry.checkpoints[i])) continue;
      if (victim == index && loss_without(entry, i) >= loss_without(entry, least)) continue;
      victim = index;
      least = i;
    }
  }
  if (victim < 0) return false;
  auto& lengths = slot_at(victim).checkpoints;
  const auto dropped = lengths.begin() + static_cast<std::ptrdiff_t>(least);
  if (std::erase(plan.checkpoints, checkpoint{victim, *dropped}) == 0)
    plan.dropped_checkpoints.push_back({victim, *dropped});
  checkpoint_memory_.change(-checkpoint_usage_(*dropped));
  lengths.erase(dropped);
  return true;
}

}  // namespace cogen::scheduler
