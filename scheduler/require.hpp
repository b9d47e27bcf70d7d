#pragma once

#include <stdexcept>
#include <string>

namespace cogen::scheduler {

/// Throws std::logic_error with `message` and the slot unless `holds`.
inline void require(bool holds, const char* message, int slot) {
  if (!holds) throw std::logic_error("slot " + std::to_string(slot) + ": " + message);
}

}  // namespace cogen::scheduler
