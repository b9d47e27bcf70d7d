#pragma once

#include <stdexcept>
#include <string>

namespace cogen::scheduler {

/// Throws std::logic_error with `what` and the slot unless `holds`.
inline void require(bool holds, const char* what, int slot) {
  if (!holds) throw std::logic_error("slot " + std::to_string(slot) + ": " + what);
}

}  // namespace cogen::scheduler
