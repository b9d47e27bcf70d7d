#pragma once

#include "network/kernels/tiled_matrix.hpp"
#include "network/kernels/weight_storage.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {

/// How weights of a source format are kept.
constexpr weight_storage storage_of(weight_format format) {
  switch (format) {
    case weight_format::f32:
      return weight_storage::f32;
    case weight_format::f16:
      return weight_storage::f16;
    case weight_format::bf16:
      return weight_storage::bf16;
    case weight_format::q4_0:
      return weight_storage::q4;
    case weight_format::q4_1:
      return weight_storage::q4_min;
    case weight_format::q5_0:
      return weight_storage::q5;
    case weight_format::q5_1:
      return weight_storage::q5_min;
    case weight_format::q8_0:
      return weight_storage::q8;
    case weight_format::iq4_nl:
      return weight_storage::q4_nonlinear;
    case weight_format::mxfp4:
      return weight_storage::mxfp4;
    case weight_format::q2_k:
      return weight_storage::q2_k;
    case weight_format::q3_k:
      return weight_storage::q3_k;
    case weight_format::q4_k:
      return weight_storage::q4_k;
    case weight_format::q5_k:
      return weight_storage::q5_k;
    case weight_format::q6_k:
      return weight_storage::q6_k;
    case weight_format::iq4_xs:
      return weight_storage::q4_nonlinear_k;
  }
  return weight_storage::f32;
}

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
void pack_tile(const stored_rows& rows, std::byte* tile);

/// Reads one lane of a tile back, as the float32 values its source format defines.
void unpack_row(weight_storage storage, const std::byte* tile, std::int64_t inputs, int lane, float* out);

}  // namespace cogen::kernels
