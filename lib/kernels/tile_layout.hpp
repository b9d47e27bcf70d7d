#pragma once

#include "kernels/tiled_matrix.hpp"
#include "kernels/weight_storage.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {

/// How weights of a source format are kept: q5_0 and q8_0 as q8, q5_1 as q8_min, iq4_nl as q4_nonlinear, q2_k as
/// q2_halves, q3_k as q4_halves, q4_k as q4_wide, q5_k as q8_wide, q6_k as q8_halves, iq4_xs as q4_nonlinear_wide.
weight_storage storage_of(weight_format format);

/// Bytes of one tile of 64 outputs.
std::size_t tile_bytes(weight_storage storage, std::int64_t inputs);

/// Up to 64 rows in a source format, one after the other.
struct stored_rows {
  weight_format format;
  const std::byte* data;
  std::int64_t count;
  std::int64_t inputs;
};

/// Writes row i into lane i of a tile that was zero.
void pack_tile(const stored_rows& from, std::byte* tile);

/// Reads one lane of a tile back, as the float32 values its source format defines.
void unpack_row(weight_storage storage, const std::byte* tile, std::int64_t inputs, int lane, float* out);

}  // namespace cogen::kernels
