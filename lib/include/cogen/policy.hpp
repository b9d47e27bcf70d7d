#pragma once

// The policies that engine_options::policies selects, and what an own one derives from.
#include <cogen/scheduler/allocation_policy.hpp>
#include <cogen/scheduler/preemption_policy.hpp>
#include <cogen/scheduler/scheduling_policy.hpp>
