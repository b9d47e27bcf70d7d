#pragma once

#include <array>
#include <cstdint>

namespace cogen {

/// The counter-based generator Philox4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy
/// as 1, 2, 3; SC 2011): four random words that are a pure function of a counter and a key.
using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

philox_counter philox4x32_10(philox_counter counter, philox_key key);

}  // namespace cogen
