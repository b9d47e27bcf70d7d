#pragma once

#include <cogen/cache/slot_table.hpp>
#include <cogen/scheduler/plan.hpp>

#include <vector>

namespace cogen::detail {

/// A slot that begins with what others hold.
struct slot_fork {
  int slot;
  cache::fork_spec origin;
};

/// What a plan fills slots with: the tokens that each one shares, and those that it gets copied, together.
std::vector<slot_fork> forks_in(const scheduler::plan& plan);

}  // namespace cogen::detail
