#pragma once

#include "formats/checkpoint/quantized_blocks.hpp"
#include "network/backend/quantized_rows.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace cogen::device {

/// The packing of fewest bits that holds the codes of all these types as they are; nothing if one is not quantized.
/// Codes of iq types are the integers of their table, those of NVFP4, and of MXFP4 beside other types, twice their
/// numbers.
std::optional<kernels::weight_packing> packing_of(std::span<const element_type> types);

/// Writes the codes and scales of rows as they are stored. `rows` are in host memory, with scales in float32, and have
/// a packing that holds the type.
void read_stored_rows(element_type type, std::span<const std::byte> stored, const quantized_rows& rows);

}  // namespace cogen::device
