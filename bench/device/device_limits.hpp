#pragma once

#include "network/backend/backend.hpp"

#include <cogen/model.hpp>

#include <optional>

namespace cogen::bench {

/// Bytes read and written per second by a large copy within the device.
double copy_bandwidth(const device::backend& where);

/// Multiplications and additions of bfloat16 per second, two of each product, of a large square product by LibTorch.
double product_rate(const device::backend& where);

/// Multiplications and additions that reading `prompts` prompts of `tokens` each takes: of the layers' matrices,
/// attention to earlier tokens, and the last token's logits. None for models whose layers are not those of Llama.
std::optional<double> prompt_operations(const model& lm, int prompts, int tokens);

}  // namespace cogen::bench
