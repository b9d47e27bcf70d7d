#pragma once

#include "sampling/random_stream.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Reproducible logits of about normal distribution: sums of uniform numbers keyed by (seed, index).
inline std::vector<float> some_logits(std::size_t vocabulary, std::uint64_t seed, float deviation = 2) {
  std::vector<float> logits(vocabulary);
  for (std::size_t i = 0; i < vocabulary; ++i) {
    double sum = -6;
    for (std::uint32_t j = 0; j < 12; ++j) sum += cogen::uniform({seed, 0, static_cast<std::uint32_t>(i), j});
    logits[i] = static_cast<float>(sum) * deviation;
  }
  return logits;
}
