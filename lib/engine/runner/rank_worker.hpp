#pragma once

#include "network/parallel/rank_group.hpp"

#include <cogen/extend/runner.hpp>

#include <memory>

namespace cogen::detail {

/// Executes what rank 0's leading_runner tells this rank, until its engine ends. Steps and swaps of `own` may end after
/// its launch() has returned. Throws parallel::rank_error if another rank fails, and what `own` throws; the other ranks
/// get to know that.
void run_steps(std::unique_ptr<runner> own, parallel::rank_group& ranks);

}  // namespace cogen::detail
