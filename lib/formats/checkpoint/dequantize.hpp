#pragma once

#include "formats/checkpoint/quantized_blocks.hpp"

#include <cstddef>
#include <span>

namespace cogen::load {

/// Whether dequantize() reads this type: f32, f16, bf16, f64 and those of blocks.
bool has_float_form(element_type type) noexcept;

/// Writes the value of every element in `blocks` to `out`: the plain reference for faster code. The q types are
/// computed in float as scale * q (+ minimum), each operation rounded once, as in GGML's reference. `blocks` needs no
/// alignment. Throws std::invalid_argument if the type has no float form, `blocks` is not a whole number of blocks, or
/// `out` has a different number of elements.
void dequantize(element_type type, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace cogen::load
