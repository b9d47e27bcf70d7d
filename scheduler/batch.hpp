#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Fills the plan with rows, up to limits.max_batched_tokens tokens: first one token of each sequence that decodes,
/// those first that have waited longest; then chunks of those that are prefilled, in order.
///
/// Where those that decode would fill the plan alone, an eighth of it (at least one token) is kept for the others; of
/// plans of a single token, every other one. Returns true when a sequence lost its slot.
bool build_batch(state& all, plan& into, plan_in_flight& record);

}  // namespace cogen::scheduler
