#pragma once

#include "network/parallel/rank_group.hpp"

#include <cogen/detail/scheduler/types.hpp>

#include <functional>
#include <string>

namespace cogen::detail {

/// All ranks call it before rank 0's engine starts: afterwards rank 0's limits are those that every rank's cache keeps.
/// Throws std::invalid_argument if the settings differ, on the ranks where they do and on rank 0.
void agree(scheduler::limits& limits, parallel::rank_group& ranks, const std::string& settings);

/// The least of what all ranks find. Where one throws std::invalid_argument, all of them do, with its message.
int agree_on_least(parallel::rank_group& ranks, const std::function<int()>& find);

}  // namespace cogen::detail
