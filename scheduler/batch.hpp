#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Fills the step with rows, up to limits.max_batched_tokens tokens: first one token of each decoding sequence, those
/// that have waited longest first; then prefill chunks, in order.
///
/// If decoding sequences alone would fill the step, an eighth of it (at least one token) is kept for prefill; of steps
/// of a single token, every other one. Returns true if a sequence lost its slot.
bool build_batch(state& sched, step& plan, step_record& record);

}  // namespace cogen::scheduler
