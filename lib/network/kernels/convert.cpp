#include "network/kernels/convert.hpp"

#include <bit>

namespace cogen::kernels {

float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31U;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return sign ? -magnitude : magnitude;
}

std::uint16_t float_to_f16(float value) {
  const auto raw = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((raw >> 16) & 0x8000U);
  const std::uint32_t magnitude = raw & 0x7fffffffU;
  const auto with_sign = [&](std::uint32_t bits) { return static_cast<std::uint16_t>(sign | bits); };
  if (magnitude > 0x7f800000U) return with_sign(0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U) return with_sign(0x7c00U);  // 65520 and above round to infinity
  if (magnitude >= 0x38800000U) return with_sign((magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13);
  // Adding 0.5 leaves exactly a subnormal half's bits, rounded, at the bottom of the sum.
  return with_sign(std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U);
}

float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t float_to_bf16(float value) {
  const auto raw = std::bit_cast<std::uint32_t>(value);
  if ((raw & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((raw | 0x400000U) >> 16);
  return static_cast<std::uint16_t>((raw + 0x7fffU + ((raw >> 16) & 1U)) >> 16);
}

}  // namespace cogen::kernels
