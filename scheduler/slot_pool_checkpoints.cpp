#include "slot_pool.hpp"

#include <algorithm>
#include <limits>

namespace cogen::scheduler {
namespace {

constexpr std::int64_t most_tokens = std::numeric_limits<int>::max();

/// How many tokens are run again without this checkpoint, on average, if prompts part at a length in inverse proportion
/// to it.
double loss_without(const slot& of, std::size_t checkpoint) {
  const auto& lengths = of.checkpoints;
  const int before = checkpoint == 0 ? 0 : lengths[checkpoint - 1];
  const int after = checkpoint + 1 < lengths.size() ? lengths[checkpoint + 1] : of.length;
  return static_cast<double>(lengths[checkpoint] - before) * (after - lengths[checkpoint]) / after;
}

}  // namespace

void slot_pool::add_checkpoint(int index, step& into) {
  slot& seq = at(index);
  const auto bytes = checkpoint_usage_(seq.length);
  if (seq.pending || std::ranges::binary_search(seq.checkpoints, seq.length)) return;
  seq.checkpoint_use = ++checkpoint_uses_;
  while (!checkpoint_memory_.fits(bytes))
    if (!drop_a_checkpoint(into)) return;
  seq.checkpoints.push_back(seq.length);
  checkpoint_memory_.change(bytes);
  into.checkpoints.push_back({index, seq.length});
}

void slot_pool::forget_checkpoint(int index, int length) noexcept {
  const auto lost = std::erase(at(index).checkpoints, length);
  checkpoint_memory_.change(-checkpoint_usage_(length) * static_cast<std::int64_t>(lost));
}

bool slot_pool::begins_another_at(int index, int length) const {
  return std::ranges::any_of(filling_, [&](int each) {
    const auto& pending = *(*this)[each].pending;
    return pending.from == index && pending.end == length;
  });
}

/// What is restored there can go back no further.
int slot_pool::reach_at_checkpoint(int length) const {
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{length} + max_rollback_tokens_, most_tokens));
}

void slot_pool::drop_checkpoints(int index, int beyond) noexcept {
  auto& lengths = at(index).checkpoints;
  for (; !lengths.empty() && lengths.back() > beyond; lengths.pop_back())
    checkpoint_memory_.change(-checkpoint_usage_(lengths.back()));
}

/// Of the slot used longest ago, the one whose loss costs least. A slot that this step fills from it still needs it.
bool slot_pool::drop_a_checkpoint(step& into) {
  int from = -1;
  std::size_t least = 0;
  for (int index = 0; index < static_cast<int>(slots_.size()); ++index) {
    const slot& each = (*this)[index];
    const bool sooner = from >= 0 && each.checkpoint_use > (*this)[from].checkpoint_use;
    for (std::size_t i = 0; !sooner && i < each.checkpoints.size(); ++i) {
      if (begins_another_at(index, each.checkpoints[i])) continue;
      if (from == index && loss_without(each, i) >= loss_without(each, least)) continue;
      from = index;
      least = i;
    }
  }
  if (from < 0) return false;
  auto& lengths = at(from).checkpoints;
  const auto dropped = lengths.begin() + static_cast<std::ptrdiff_t>(least);
  if (std::erase(into.checkpoints, checkpoint{from, *dropped}) == 0)
    into.dropped_checkpoints.push_back({from, *dropped});
  checkpoint_memory_.change(-checkpoint_usage_(*dropped));
  lengths.erase(dropped);
  return true;
}

}  // namespace cogen::scheduler
