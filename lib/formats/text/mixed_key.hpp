#pragma once

#include <cstdint>

namespace cogen::text {

/// The bits of a key spread over its upper half, for a table by hash: Fibonacci hashing, Knuth volume 3, section 6.4.
constexpr std::uint64_t mixed_key(std::uint64_t key) noexcept {
  constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;
  return (key ^ key >> 29) * golden_ratio;
}

}  // namespace cogen::text
