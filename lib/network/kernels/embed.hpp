#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/tiled_matrix.hpp"

#include <cogen/token.hpp>

#include <cstdint>
#include <span>

namespace cogen::kernels {

/// Writes the table's row of each token to out [tokens, inputs] (stride in floats), dequantized exactly, times `scale`.
/// Throws std::invalid_argument, before anything is written, if a token is negative or not below table.outputs().
void embed(const execution& run, const tiled_matrix& table, std::span<const token> tokens, float* out,
           std::int64_t out_stride, float scale = 1.0F);

}  // namespace cogen::kernels
