#pragma once

#include <array>
#include <cstdint>

namespace cogen {

/// The counter-based generator Philox4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy
/// as 1, 2, 3; SC 2011): four random words that are a pure function of a counter and a key. Constexpr, so that devices
/// run the same code.
using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

constexpr philox_counter philox_round(const philox_counter& counter, const philox_key& key) {
  const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
  const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
  return {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
          static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
}

constexpr philox_counter philox4x32_10(philox_counter counter, philox_key key) {
  for (int i = 0; i < 10; ++i) {
    counter = philox_round(counter, key);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

}  // namespace cogen
