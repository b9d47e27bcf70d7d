#include "simulation/rules.hpp"

#include <algorithm>

namespace cogen::scheduler::simulate {
namespace {

int levels(const contender& above, const contender& below) {
  return above.run.options.priority - below.run.options.priority;
}

std::uint64_t own_rank(const contender& each) { return static_cast<std::uint64_t>(each.id) % 3; }

bool was_first(const contender& a, const contender& b) { return a.run.number < b.run.number; }

}  // namespace

bool comes_before(const settings& of, const contender& a, const contender& b) {
  switch (of.rule) {
    case policy::own:
      return own_rank(a) != own_rank(b) ? own_rank(a) < own_rank(b) : was_first(a, b);
    case policy::priority: {
      const auto behind = a.run.asked - b.run.asked - levels(a, b) * of.boost;
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

bool may_displace(const settings& of, const contender& waits, const contender& runs) {
  if (!of.displacing) return false;
  if (of.rule == policy::own) return own_rank(waits) < own_rank(runs);
  if (of.rule == policy::fair_share) return waits.run.options.tenant != runs.run.options.tenant;
  return levels(waits, runs) > 0 && waits.run.asked - runs.run.asked < levels(waits, runs) * of.boost;
}

bool may_overtake(const settings& of, const contender& later, const contender& overtaken) {
  if (comes_before(of, overtaken, later)) return false;
  if (of.rule != policy::priority) return true;
  return later.run.asked - overtaken.run.asked <= std::max(0, levels(later, overtaken)) * of.boost;
}

}  // namespace cogen::scheduler::simulate
