#pragma once

#include <bit>
#include <cstdint>

namespace cogen {

/// IEEE 754 binary16 bits to float: exact for every value, subnormals, infinities and NaN payloads included.
constexpr float f16_to_f32(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t rebased = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | rebased << 23 | fraction << 13);
}

/// float to the nearest binary16, ties to even; overflow becomes infinity, NaN stays a (quiet) NaN.
constexpr std::uint16_t f32_to_f16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U | (magnitude >> 13 & 0x3FFU));
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < 0x38800000U) {  // below the smallest normal: adding 0.5 makes the FPU round at 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t rounded = magnitude - 0x38000000U + 0xFFFU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

/// bfloat16 bits to float: exact.
constexpr float bf16_to_f32(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// OCP's E4M3 bits to float: exact, NaN for 0x7F and 0xFF.
constexpr float e4m3_to_f32(std::uint8_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80U) << 24;
  const std::uint32_t exponent = (bits >> 3) & 0xFU, fraction = bits & 7U;
  if ((bits & 0x7FU) == 0x7FU) return std::bit_cast<float>(sign | 0x7FC00000U);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-9F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 120) << 23 | fraction << 20);
}

/// OCP's E8M0 bits to float: 2^(bits - 127), exact; NaN for 255.
constexpr float e8m0_to_f32(std::uint8_t bits) noexcept {
  if (bits == 255) return std::bit_cast<float>(0x7FC00000U);
  return std::bit_cast<float>(bits == 0 ? 0x00400000U : static_cast<std::uint32_t>(bits) << 23);
}

/// float to the nearest bfloat16, ties to even; NaN stays a (quiet) NaN.
constexpr std::uint16_t f32_to_bf16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace cogen
