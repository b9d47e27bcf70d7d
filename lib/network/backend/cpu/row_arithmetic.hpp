#pragma once

#include "network/backend/cpu/forward_context.hpp"
#include "network/kernels/activation_kind.hpp"

#include <span>

namespace cogen::cpu {

/// Moves the rows that `outputs` (ascending) names to the front, and returns them.
activations keep(std::span<const int> outputs, const activations& x);

void copy_rows(const activations& x, const activations& out);

/// out += factor * x
void add_rows(const forward_context& context, const activations& x, float factor, const activations& out);

/// out *= x
void multiply_rows(const forward_context& context, const activations& x, const activations& out);

/// x *= factor
void scale_rows(const forward_context& context, float factor, const activations& x);

/// x += bias [columns], to each row
void add_bias(const forward_context& context, std::span<const float> bias, const activations& x);

/// out = f(x) * factor, or f(x) if there is no factor. They may be the same.
void activate_rows(const forward_context& context, kernels::activation kind, const activations& x,
                   const activations& factor, const activations& out);

/// Each value becomes what it is above its row's mean + `deviations` standard deviations, or 0.
void cut_off(const forward_context& context, float deviations, const activations& x);

/// Each value becomes limit * tanh(value / limit).
void cap(const forward_context& context, const activations& x, float limit);

}  // namespace cogen::cpu
