#pragma once

#include "kernels/dots.hpp"

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

namespace cogen::kernels {
namespace {

/// Rows of bytes: each begins `stride` bytes after the one before.
struct byte_rows {
  const std::byte* first;
  std::int64_t stride;
};

/// Some rows of signed codes times the weights of a panel, by the tile registers of this thread, which an object sets
/// up and releases.
class tile_products {
 public:
  static constexpr int rows = 16;
  using sums = std::int32_t[rows][panel_lanes];

  /// So many rows, at most 16, of so many quads of codes, at most 8.
  tile_products(int height, int quads) {
    shape shapes{};
    shapes.palette = 1;
    shapes.set(0, height, row_bytes);
    shapes.set(1, height, row_bytes);
    shapes.set(2, height, 4 * quads);
    shapes.set(3, quads, row_bytes);
    shapes.set(4, quads, row_bytes);
    _tile_loadconfig(&shapes);
  }
  ~tile_products() { _tile_release(); }
  tile_products(const tile_products&) = delete;
  tile_products& operator=(const tile_products&) = delete;

  /// Writes the rows of `to`; quads of weights lie panel_quad_bytes apart.
  COGEN_INLINE void multiply(byte_rows codes, const std::byte* weights, sums& to) const {
    _tile_loadd(2, codes.first, codes.stride);
    _tile_loadd(3, weights, panel_quad_bytes);
    _tile_loadd(4, weights + row_bytes, panel_quad_bytes);
    _tile_zero(0);
    _tile_zero(1);
    _tile_dpbsud(0, 2, 3);
    _tile_dpbsud(1, 2, 4);
    _tile_stored(0, to[0], sizeof to[0]);
    _tile_stored(1, to[0] + panel_lanes / 2, sizeof to[0]);
  }

 private:
  static constexpr int row_bytes = 64;
  static_assert(panel_quad_bytes == 2 * row_bytes);

  struct alignas(64) shape {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t bytes[16];
    std::uint8_t rows[16];

    void set(int tile, int height, int width) {
      rows[tile] = static_cast<std::uint8_t>(height);
      bytes[tile] = static_cast<std::uint16_t>(width);
    }
  };
};

}  // namespace
}  // namespace cogen::kernels
