#include "simulation/rules.hpp"

#include <algorithm>

namespace cogen::scheduler::simulate {
namespace {

int levels(const contender& above, const contender& below) {
  return above.run.options.priority - below.run.options.priority;
}

std::uint64_t own_rank(const contender& run) { return static_cast<std::uint64_t>(run.id) % 3; }

bool was_first(const contender& a, const contender& b) { return a.run.number < b.run.number; }

}  // namespace

bool comes_before(const settings& setup, const contender& a, const contender& b) {
  switch (setup.rule) {
    case policy::own:
      return own_rank(a) != own_rank(b) ? own_rank(a) < own_rank(b) : was_first(a, b);
    case policy::priority: {
      const auto behind = a.run.asked - b.run.asked - levels(a, b) * setup.boost;
      return behind.count() != 0 ? behind.count() < 0 : was_first(a, b);
    }
    case policy::fair_share:
      return a.run.options.tenant == b.run.options.tenant && was_first(a, b);
    case policy::deadline:
      return a.run.options.deadline != b.run.options.deadline ? a.run.options.deadline < b.run.options.deadline
                                                              : was_first(a, b);
    default:
      return was_first(a, b);
  }
}

bool may_displace(const settings& setup, const contender& waits, const contender& runs) {
  if (!setup.displacing) return false;
  if (setup.rule == policy::own) return own_rank(waits) < own_rank(runs);
  if (setup.rule == policy::fair_share) return waits.run.options.tenant != runs.run.options.tenant;
  return levels(waits, runs) > 0 && waits.run.asked - runs.run.asked < levels(waits, runs) * setup.boost;
}

bool may_overtake(const settings& setup, const contender& later, const contender& overtaken) {
  if (comes_before(setup, overtaken, later)) return false;
  if (setup.rule != policy::priority) return true;
  return later.run.asked - overtaken.run.asked <= std::max(0, levels(later, overtaken)) * setup.boost;
}

}  // namespace cogen::scheduler::simulate
