#pragma once

#include "sampling/scratch.hpp"

#include <span>

namespace cogen {

/// The first candidate whose weight, added to those before it, exceeds the part `u` in [0, 1) of all weights. One of
/// positive weight must be among them.
token choose(std::span<const candidate> candidates, double u);

/// The same over a whole row of weights [n], where `total` is the sum of its `block_sums`.
token choose(std::span<const float> weights, std::span<const double> block_sums, double total, double u);

}  // namespace cogen
