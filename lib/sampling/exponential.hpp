#pragma once

#include <bit>
#include <cstdint>

namespace cogen {

/// exp(x) for x <= 0, minus infinity included, with a relative error below 2e-7; 0 below -87. Without branches or
/// calls, so that loops over it become vector instructions; in exactly the same arithmetic one by one. Constexpr, so
/// that devices run the same code.
constexpr float exponential(float x) {
  constexpr float smallest = -87;
  constexpr float to_integer = 0x1.8p23F;  // adding it rounds to the nearest integer, which stays in the low bits
  const float bounded = x < smallest ? smallest : x;
  const float shifted = bounded * 0x1.715476p0F + to_integer;
  const float whole = shifted - to_integer;
  const float rest = (bounded - whole * 0x1.62e4p-1F) - whole * 0x1.7f7d1cp-20F;  // ln 2 in two parts
  float sum = 1.0F / 5040;
  sum = sum * rest + 1.0F / 720;
  sum = sum * rest + 1.0F / 120;
  sum = sum * rest + 1.0F / 24;
  sum = sum * rest + 1.0F / 6;
  sum = sum * rest + 0.5F;
  sum = sum * rest + 1;
  sum = sum * rest + 1;
  const auto exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  const float value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum) + exponent);
  return x < smallest ? 0 : value;
}

}  // namespace cogen
