#pragma once

#include "backend/cpu/forward_context.hpp"

namespace cogen::cpu {

/// Sets the rows' states to those of one layer of the cache. Throws std::logic_error if it keeps no states.
void set_states(const forward_context& context, int layer);

}  // namespace cogen::cpu
