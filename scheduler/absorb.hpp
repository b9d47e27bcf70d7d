#pragma once

#include "state.hpp"

#include <span>
#include <vector>

namespace cogen::scheduler {

/// Takes in what the rows of a plan came to, and adds what their owners are told to `events`.
void take_in(state& all, const plan_in_flight& done, std::span<const row_result> results, std::vector<event>& events);

/// The sequence is gone; its slot is left.
void forget(state& all, sequence& seq);

}  // namespace cogen::scheduler
