#pragma once

#include "network/kernels/tiled_matrix.hpp"
#include "network/kernels/weight_storage.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {

/// Whether products take weights of this type.
constexpr bool has_tiles(element_type type) {
  return is_quantized(type) || type == element_type::f32 || type == element_type::f16 || type == element_type::bf16;
}

/// How weights of a type with tiles are kept.
constexpr weight_storage storage_of(element_type format) {
  switch (format) {
    case element_type::f32:
      return weight_storage::f32;
    case element_type::f16:
      return weight_storage::f16;
    case element_type::bf16:
      return weight_storage::bf16;
    case element_type::q4_0:
      return weight_storage::q4;
    case element_type::q4_1:
      return weight_storage::q4_min;
    case element_type::q5_0:
      return weight_storage::q5;
    case element_type::q5_1:
      return weight_storage::q5_min;
    case element_type::q8_0:
      return weight_storage::q8;
    case element_type::iq4_nl:
      return weight_storage::q4_nonlinear;
    case element_type::mxfp4:
      return weight_storage::mxfp4;
    case element_type::q2_k:
      return weight_storage::q2_k;
    case element_type::q3_k:
      return weight_storage::q3_k;
    case element_type::q4_k:
      return weight_storage::q4_k;
    case element_type::q5_k:
      return weight_storage::q5_k;
    case element_type::q6_k:
      return weight_storage::q6_k;
    case element_type::iq4_xs:
      return weight_storage::q4_nonlinear_k;
    case element_type::q4_zero:
      return weight_storage::q4_zero;
    case element_type::q8_zero:
      return weight_storage::q8_zero;
    case element_type::scaled_e4m3:
      return weight_storage::e4m3;
    case element_type::scaled_e2m1:
      return weight_storage::scaled_e2m1;
    case element_type::tq1_0:
    case element_type::tq2_0:
    case element_type::q1_0:
    case element_type::q2_0:
      return weight_storage::q2;
    case element_type::iq1_s:
    case element_type::iq1_m:
    case element_type::iq2_xxs:
    case element_type::iq2_xs:
    case element_type::iq2_s:
    case element_type::iq3_xxs:
    case element_type::iq3_s:
      return weight_storage::q4_table_k;
    case element_type::nvfp4:
      return weight_storage::nvfp4;
    default:
      return weight_storage::f32;
  }
}

/// Bytes of one tile of 64 outputs.
std::size_t tile_bytes(weight_storage storage, std::int64_t inputs);

/// Up to 64 rows in a source format, one after the other.
struct stored_rows {
  element_type format;
  const std::byte* data;
  std::int64_t count;
  std::int64_t inputs;
  float factor = 1;  ///< of nvfp4: multiplies all scales
};

/// Writes row i into lane i of a tile that was zero.
void pack_tile(const stored_rows& rows, std::byte* tile);

/// Reads one lane of a tile back, as the float32 values its source format defines.
void unpack_row(weight_storage storage, const std::byte* tile, std::int64_t inputs, int lane, float* out);

}  // namespace cogen::kernels
