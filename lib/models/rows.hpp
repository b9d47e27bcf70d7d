#pragma once

#include "layers/forward_context.hpp"

#include <span>

namespace cogen::models {

/// Moves the rows that `outputs` (ascending) names to the front, and returns them.
layers::activations keep(std::span<const int> outputs, const layers::activations& x);

/// Each value becomes limit * tanh(value / limit).
void cap(const layers::forward_context& context, const layers::activations& x, float limit);

}  // namespace cogen::models
