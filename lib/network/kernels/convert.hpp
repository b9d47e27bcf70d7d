#pragma once

#include <cstdint>

namespace cogen::kernels {

/// IEEE binary16 and bfloat16 bits, to float32 exactly, and from float32 rounded to nearest even (NaN stays NaN).
float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float value);
float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);

}  // namespace cogen::kernels
