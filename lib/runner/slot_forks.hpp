#pragma once

#include <cogen/cache/slot_table.hpp>
#include <cogen/scheduler/step.hpp>

#include <vector>

namespace cogen::detail {

/// A slot that begins with tokens of other slots.
struct slot_fork {
  int slot;
  cache::fork_spec origin;
};

/// The forks of a step: for each slot, the tokens that it shares and those copied to it, together.
std::vector<slot_fork> forks_in(const scheduler::step& step);

}  // namespace cogen::detail
