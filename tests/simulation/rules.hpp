#pragma once

#include "simulation/mirror.hpp"
#include "simulation/settings.hpp"

namespace cogen::scheduler::simulate {

struct contender {
  sequence_id id;
  const mirror& run;
};

/// Whether the policy promises that `a` is served before `b`; where tenants share, it promises nothing between them.
bool comes_before(const settings& setup, const contender& a, const contender& b);

/// Whether `later` may have gone first, by what the policy promises to the one it has overtaken.
/// Whether one that waits may take the slot of one that runs.
bool may_displace(const settings& setup, const contender& waits, const contender& runs);

bool may_overtake(const settings& setup, const contender& later, const contender& overtaken);

}  // namespace cogen::scheduler::simulate
