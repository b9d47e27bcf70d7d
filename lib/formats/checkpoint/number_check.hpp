#pragma once

#include "formats/checkpoint/quantized_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cogen::load {

/// A number that no trained model holds.
struct bad_number {
  std::int64_t block = 0;   ///< counted from the first that was given; of plain types, the element
  std::string description;  ///< "the scale inf; magnitudes up to 511 are allowed"
};

/// The first number that is not finite in float32, or the first block with a scale (or minimum) with which it could
/// hold a weight beyond float16's range, 65504, or which is not finite itself. Integers are never bad. `blocks` is a
/// whole number of blocks, and needs no alignment. It takes a few operations a block, or a fraction of one for each
/// number.
std::optional<bad_number> first_bad_number(element_type type, std::span<const std::byte> blocks);

}  // namespace cogen::load
