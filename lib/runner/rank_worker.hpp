#pragma once

#include "parallel/rank_group.hpp"

#include <cogen/extend/runner.hpp>

namespace cogen::detail {

/// Executes what rank 0's leading_runner tells this rank, until its engine ends. `own` swaps before launch() returns.
/// Throws parallel::rank_error if another rank fails, and what `own` throws; the other ranks get to know that.
void run_steps(runner& own, parallel::rank_group& ranks);

}  // namespace cogen::detail
