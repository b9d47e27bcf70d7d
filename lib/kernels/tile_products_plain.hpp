#pragma once

#include "kernels/dots.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {
namespace {

/// Rows of bytes: each begins `stride` bytes after the one before.
struct byte_rows {
  const std::byte* first;
  std::int64_t stride;
};

/// Some rows of signed codes times the weights of a panel; see tile_products_amx.hpp.
class tile_products {
 public:
  static constexpr int rows = 16;
  using sums = std::int32_t[rows][panel_lanes];

  tile_products(int height, int quads) : height_(height), quads_(quads) {}

  void multiply(byte_rows codes, const std::byte* weights, sums& to) const {
    for (int row = 0; row < height_; ++row)
      for (int lane = 0; lane < panel_lanes; ++lane) {
        std::int32_t sum = 0;
        for (int at = 0; at < 4 * quads_; ++at) {
          const auto code = static_cast<std::int8_t>(codes.first[row * codes.stride + at]);
          sum += code * static_cast<std::uint8_t>(weights[at / 4 * panel_quad_bytes + 4 * lane + at % 4]);
        }
        to[row][lane] = sum;
      }
  }

 private:
  int height_;
  int quads_;
};

}  // namespace
}  // namespace cogen::kernels
