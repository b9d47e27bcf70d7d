#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Tokens that memory is to be set aside for when the sequence is given a slot.
int to_be_reserved(const state& all, const sequence& seq);

/// Whether the sequence has a slot and can have no row, because memory is set aside there for less than it has to hold.
bool is_short(const sequence& seq);

/// Sets memory aside for what sequences have to hold next. Where there is none, others leave their slots: those that
/// rest, and then the last of those that come after the one that grows; or it leaves itself. Meanwhile it is short.
void grow(state& all);

/// Whether somebody is short: nobody else is given the memory that it waits for.
bool somebody_is_short(const state& all);

}  // namespace cogen::scheduler
