#pragma once

#include <cogen/load/element_type.hpp>

#include <cstddef>
#include <span>

namespace cogen::load {

/// Whether dequantize() reads this type: f32, f16, bf16, f64 and the q types.
bool has_float_form(element_type type) noexcept;

/// Writes the value of every element in `blocks` to `out`: the plain reference that faster code is compared with.
/// The q types are computed in float as scale * q (+ minimum), each operation rounded once, as GGML's reference does.
/// `blocks` needs no alignment. Throws std::invalid_argument where the type has no float form, `blocks` is no whole
/// number of blocks, or `out` does not have exactly as many elements.
void dequantize(element_type type, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace cogen::load
