#pragma once

#include "state.hpp"

#include <optional>

namespace cogen::scheduler {

/// Whoever has to leave its slot next so that `waits` may have one; null where nobody does: one that has rested for
/// long, or, without any, one that the order lets be displaced.
sequence* next_to_leave(state& all, const sequence& waits);

/// Whoever has to leave its slot next so that `grows`, which has one, finds more memory; null where nobody can: one
/// that rests, or, without any, the last of those that come after it.
sequence* next_to_make_way(state& all, const sequence& grows);

/// When the next sequence that rests has done so for long, if one waits for its slot.
std::optional<time> next_to_preempt(const state& all);

}  // namespace cogen::scheduler
