#pragma once

#include <cogen/detail/scheduler/types.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cogen::scheduler::simulate {

inline void require(bool holds, const std::string& message) {
  if (!holds) throw std::logic_error(message);
}

inline std::string text(sequence_id id) { return "sequence " + std::to_string(static_cast<std::uint64_t>(id)); }
inline std::string text(swap_id name) { return "swap id " + std::to_string(static_cast<std::uint64_t>(name)); }

}  // namespace cogen::scheduler::simulate
