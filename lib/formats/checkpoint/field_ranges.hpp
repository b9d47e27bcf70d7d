#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cstdint>

namespace cogen::load {

// What several readers of a config allow: no model is near these, and sizes made from them stay within 64 bits.
inline constexpr integer_range layer_counts{1, 1 << 12};
inline constexpr integer_range layer_periods{1, 1 << 12};
inline constexpr integer_range expert_counts{1, 1 << 12};
inline constexpr integer_range head_counts{1, 1 << 14};
inline constexpr integer_range head_dims{1, 1 << 13};
inline constexpr integer_range hidden_widths{1, 1 << 20};
inline constexpr integer_range inner_widths{1, 1 << 24};
inline constexpr integer_range position_counts{1, (std::int64_t{1} << 31) - 1};
inline constexpr real_range rope_thetas{1, 1e15};
inline constexpr real_range multipliers{1e-9, 1e9};
inline constexpr real_range softcaps{1e-6, 1e6};

}  // namespace cogen::load
