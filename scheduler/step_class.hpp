#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cogen::scheduler {

/// Which of `classes` a step of so much belongs to, each of which begins at about 1.4 times the one before.
inline std::size_t class_of(std::int64_t much, std::size_t classes) {
  const auto number = std::lround(2 * std::log2(static_cast<double>(std::max<std::int64_t>(much, 1))));
  return std::min(static_cast<std::size_t>(number), classes - 1);
}

}  // namespace cogen::scheduler
