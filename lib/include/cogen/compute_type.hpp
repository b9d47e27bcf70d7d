#pragma once

#include <cstdint>

namespace cogen {

/// How products of activations and weights are computed. Within one type, build and instruction set a sequence's
/// results are the same bits in any company.
enum class compute_type : std::uint8_t {
  /// Weights as exactly the numbers that their format defines, activations and sums in float32.
  float32,

  /// Weights of 4 to 8 bits meet activations that are rounded to 8 bits, with a scale for each 32 of them (an error of
  /// half a 127th of the largest of the 32 at most), in integers; sums over the groups of 32 stay in float32. bfloat16
  /// weights meet activations rounded to bfloat16 where the processor is fast at that. Other weights as with `float32`.
  int8,
};

}  // namespace cogen
