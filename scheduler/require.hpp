#pragma once

#include <stdexcept>
#include <string>

namespace cogen::scheduler {

/// Throws std::logic_error, which says `what` of the slot, unless it holds.
inline void require(bool holds, const char* what, int slot) {
  if (!holds) throw std::logic_error("slot " + std::to_string(slot) + ": " + what);
}

}  // namespace cogen::scheduler
