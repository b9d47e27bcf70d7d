#include "network/weights/sinusoids.hpp"

#include <cmath>
#include <cstddef>

namespace cogen::weights {

std::vector<float> sinusoids(std::int64_t first, std::int64_t count, std::int64_t width, std::int64_t steps) {
  std::vector<float> table(static_cast<std::size_t>(count * width));
  const auto half = width / 2;
  for (std::int64_t k = 0; k < half; ++k) {
    const auto frequency = static_cast<float>(std::pow(10000.0, -static_cast<double>(k) / static_cast<double>(steps)));
    for (std::int64_t row = 0; row < count; ++row) {
      const float angle = static_cast<float>(first + row) * frequency;
      table[static_cast<std::size_t>(row * width + k)] = std::sin(angle);
      table[static_cast<std::size_t>(row * width + half + k)] = std::cos(angle);
    }
  }
  return table;
}

}  // namespace cogen::weights
