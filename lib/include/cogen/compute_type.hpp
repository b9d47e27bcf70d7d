#pragma once

#include <cstdint>

namespace cogen {

/// How activations are multiplied by weights. Within one type, build and instruction set, results are batch-invariant.
enum class compute_type : std::uint8_t {
  /// Weights as exactly the numbers that their format defines; activations and sums in float32.
  float32,

  /// Weights of 4 to 8 bits are multiplied in integers by activations rounded to 8 bits, with a scale for each 32 of
  /// them; an activation is off by at most half a 127th of the largest of the 32. Sums over the groups of 32 stay in
  /// float32. bfloat16 weights are multiplied by activations rounded to bfloat16 if the processor is fast at that.
  /// Other weights: as `float32`.
  int8,
};

}  // namespace cogen
