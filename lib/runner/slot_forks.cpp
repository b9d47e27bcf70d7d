#include "runner/slot_forks.hpp"

#include <algorithm>

namespace cogen::detail {

std::vector<slot_fork> forks_in(const scheduler::step& step) {
  std::vector<slot_fork> forks;
  for (const auto& each : step.prefix_shares)
    forks.push_back({each.slot, {.parent = each.of, .shared = each.length, .from = each.of, .end = each.length}});
  for (const auto& each : step.copies) {
    auto found = std::ranges::find(forks, each.to, &slot_fork::slot);
    if (found == forks.end()) found = forks.insert(found, {each.to, {}});
    found->origin.from = each.from;
    found->origin.end = each.end;
  }
  return forks;
}

}  // namespace cogen::detail
