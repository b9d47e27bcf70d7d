#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Fills the plan with rows, up to limits.max_batched_tokens tokens: first one token of each decoding sequence, those
/// that have waited longest first; then prefill chunks, in order.
///
/// If decoding sequences alone would fill the plan, an eighth of it (at least one token) is kept for prefill; of plans
/// of a single token, every other one. Returns true if a sequence lost its slot.
bool build_batch(state& all, plan& into, plan_in_flight& record);

}  // namespace cogen::scheduler
