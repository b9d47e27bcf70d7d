#include "engine/runner/caching_runner.hpp"

#include <utility>

namespace cogen::detail {

caching_runner::caching_runner(std::shared_ptr<cache_slots> slots, std::string snapshot_format, swap_room room)
    : slots_(std::move(slots)), snapshot_format_(std::move(snapshot_format)), swapped_(*slots_, std::move(room)) {}

void caching_runner::prepare_slots(step& step) {
  swapped_.clear_lost();
  for (const auto name : step.drops) swapped_.drop(name);
  for (const int slot : step.clears) slots_->clear(slot);
  for (const auto& each : step.truncations) slots_->truncate(each.slot, each.length);
  for (const auto& each : step.releases) slots_->release(each.slot, each.length);
  for (const auto& each : step.forks) slots_->fork(each);
  for (const auto& each : step.dropped_checkpoints) slots_->drop_checkpoint(each.slot, each.length);
  for (auto& each : step.checkpoints) each.failed = !slots_->take_checkpoint(each.slot);
  for (const auto& each : step.swap_outs) swapped_.begin(each, step.swaps());
  for (const auto& each : step.swap_ins) swapped_.begin(each, step.swaps());
}

}  // namespace cogen::detail
