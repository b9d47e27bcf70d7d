#pragma once

#include <cogen/detail/code_books.hpp>
#include <cogen/detail/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cogen {

/// What codes stand for: c for values[c] * unit.
struct code_table {
  std::int8_t values[16];
  float unit;  ///< a power of two
};

/// A block of one of GGML's types of few bits, taken apart. Element i is
/// values[codes[i]] * unit * factors[i / 16] * scale, exactly in float32 and in whatever order.
struct integer_block {
  static constexpr int group = 16;  ///< elements that share a factor

  std::uint16_t scale = 0;  ///< float16 bits
  std::uint8_t factors[16] = {};
  std::uint8_t codes[256] = {};  ///< below 16, of 2-bit types below 4; of as many elements as a block has
};

namespace detail {

// A point's code has 8 for a negative value above the number of its magnitude, or of iq1 for a negative delta.
inline constexpr code_table iq1_values = {{-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7, 0, 0, 0, 0, 0}, 1.0F / 8};
inline constexpr code_table iq2_values = {{8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43, 0, 0, 0, 0, 0}, 1.0F / 8};
inline constexpr code_table iq3_xxs_values = {{4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62},
                                              1.0F / 4};
inline constexpr code_table iq3_s_values = {{1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}, 1};
inline constexpr code_table two_bit_values = {{-1, 0, 1, 2}, 1};

}  // namespace detail

/// Whether blocks of this type are read by read_integer_block().
constexpr bool has_integer_blocks(element_type type) noexcept {
  return type >= element_type::iq1_s && type <= element_type::q2_0 && type != element_type::nvfp4;
}

/// Of a type with integer blocks.
constexpr const code_table& table_of(element_type type) noexcept {
  switch (type) {
    case element_type::iq1_s:
    case element_type::iq1_m:
      return detail::iq1_values;
    case element_type::iq2_xxs:
    case element_type::iq2_xs:
    case element_type::iq2_s:
      return detail::iq2_values;
    case element_type::iq3_xxs:
      return detail::iq3_xxs_values;
    case element_type::iq3_s:
      return detail::iq3_s_values;
    default:
      return detail::two_bit_values;
  }
}

namespace detail {

constexpr std::uint64_t in_each_byte(std::uint64_t value) { return value * 0x0101010101010101U; }

template <class T>
T read_as(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

inline unsigned byte_of(const std::byte* bytes, int index) { return static_cast<unsigned>(bytes[index]); }

/// Number `index` of nibbles, of which the low one of a byte is first.
inline unsigned nibble_of(const std::byte* bytes, int index) {
  return byte_of(bytes, index / 2) >> index % 2 * 4 & 15U;
}

/// Fields of 2 bits, each in a byte of its own.
constexpr std::uint64_t spread_pairs(std::uint64_t pairs) {
  pairs = (pairs | pairs << 24) & 0x000000FF000000FFU;
  pairs = (pairs | pairs << 12) & 0x000F000F000F000FU;
  return (pairs | pairs << 6) & 0x0303030303030303U;
}

/// Four fields of 4 bits, each in a byte of its own.
constexpr std::uint64_t spread_nibbles(std::uint64_t nibbles) {
  nibbles = (nibbles | nibbles << 8) & 0x00FF00FFU;
  return (nibbles | nibbles << 4) & 0x0F0F0F0FU;
}

/// Eight bits, each as bit 3 of a byte.
constexpr std::uint64_t spread_signs(std::uint64_t signs) {
  signs = (signs | signs << 28) & 0x0000000F0000000FU;
  signs = (signs | signs << 14) & 0x0003000300030003U;
  return ((signs | signs << 7) & 0x0101010101010101U) << 3;
}

/// Seven signs and the one that makes the number of negative ones even.
constexpr std::uint64_t with_parity(unsigned signs) {
  signs &= 127U;
  return signs | (static_cast<unsigned>(__builtin_popcount(signs)) & 1U) << 7;
}

inline void set_eight(integer_block& block, int index, std::uint64_t codes) {
  std::memcpy(block.codes + 8 * index, &codes, sizeof codes);
}

/// Of both halves of each 32 elements.
inline void set_factors(integer_block& block, int group, unsigned scale) {
  block.factors[2 * group] = block.factors[2 * group + 1] = static_cast<std::uint8_t>(2 * scale + 1);
}

inline void set_factors_of_halves(integer_block& block, const std::byte* nibbles) {
  for (int half = 0; half < 16; ++half)
    block.factors[half] = static_cast<std::uint8_t>(2 * nibble_of(nibbles, half) + 1);
}

inline void read_iq2_xxs(const std::byte* source, integer_block& block) {
  for (int group = 0; group < 8; ++group) {
    const std::byte* points = source + 2 + 8 * group;
    const auto signs = read_as<std::uint32_t>(points + 4);
    set_factors(block, group, signs >> 28);
    for (int i = 0; i < 4; ++i)
      set_eight(block, 4 * group + i,
                spread_pairs(iq2_xxs_grid[byte_of(points, i)]) | spread_signs(with_parity(signs >> 7 * i)));
  }
}

inline void read_iq2_xs(const std::byte* source, integer_block& block) {
  set_factors_of_halves(block, source + 66);
  for (int i = 0; i < 32; ++i) {
    const auto point = static_cast<unsigned>(read_as<std::uint16_t>(source + 2 + 2 * i));
    set_eight(block, i, spread_pairs(iq2_xs_grid[point & 511U]) | spread_signs(with_parity(point >> 9)));
  }
}

inline void read_iq2_s(const std::byte* source, integer_block& block) {
  set_factors_of_halves(block, source + 74);
  for (int i = 0; i < 32; ++i) {
    const unsigned point = byte_of(source, 2 + i) | (byte_of(source, 66 + i / 4) >> i % 4 * 2 & 3U) << 8;
    set_eight(block, i, spread_pairs(iq2_s_grid[point]) | spread_signs(byte_of(source, 34 + i)));
  }
}

inline void read_iq3_xxs(const std::byte* source, integer_block& block) {
  for (int group = 0; group < 8; ++group) {
    const auto signs = read_as<std::uint32_t>(source + 66 + 4 * group);
    set_factors(block, group, signs >> 28);
    for (int i = 0; i < 4; ++i) {
      const std::byte* points = source + 2 + 8 * group + 2 * i;
      set_eight(block, 4 * group + i,
                spread_nibbles(iq3_xxs_grid[byte_of(points, 0)]) |
                    spread_nibbles(iq3_xxs_grid[byte_of(points, 1)]) << 32 | spread_signs(with_parity(signs >> 7 * i)));
    }
  }
}

inline void read_iq3_s(const std::byte* source, integer_block& block) {
  const auto values = [&](int index) {
    const unsigned point = byte_of(source, 2 + index) | (byte_of(source, 66 + index / 8) >> index % 8 & 1U) << 8;
    return spread_nibbles(iq3_s_grid[point]);
  };
  for (int group = 0; group < 8; ++group) set_factors(block, group, nibble_of(source + 106, group));
  for (int i = 0; i < 32; ++i)
    set_eight(block, i, values(2 * i) | values(2 * i + 1) << 32 | spread_signs(byte_of(source, 74 + i)));
}

inline void read_iq1_s(const std::byte* source, integer_block& block) {
  for (int group = 0; group < 8; ++group) {
    const auto high = static_cast<unsigned>(read_as<std::uint16_t>(source + 34 + 2 * group));
    set_factors(block, group, high >> 12 & 7U);
    for (int i = 4 * group; i < 4 * group + 4; ++i) {
      const unsigned point = byte_of(source, 2 + i) | (high >> i % 4 * 3 & 7U) << 8;
      set_eight(block, i, spread_pairs(iq1_grid[point]) | in_each_byte(high >> 15) << 3);
    }
  }
}

/// Its scale is in the high nibbles of four numbers, whose other bits are sixteen scales.
inline std::uint16_t iq1_m_scale(const std::byte* source) {
  const auto nibble = [&](int index) { return byte_of(source, 49 + 2 * index) >> 4 << 4 * index; };
  return static_cast<std::uint16_t>(nibble(0) | nibble(1) | nibble(2) | nibble(3));
}

inline void read_iq1_m(const std::byte* source, integer_block& block) {
  for (int half = 0; half < 16; ++half) {
    const auto scales = static_cast<unsigned>(read_as<std::uint16_t>(source + 48 + half / 4 * 2));
    block.factors[half] = static_cast<std::uint8_t>(2 * (scales >> half % 4 * 3 & 7U) + 1);
  }
  for (int i = 0; i < 32; ++i) {
    const unsigned high = nibble_of(source + 32, i), point = byte_of(source, i) | (high & 7U) << 8;
    set_eight(block, i, spread_pairs(iq1_grid[point]) | in_each_byte(high >> 3) << 3);
  }
}

/// Number `index` of the five digits of base 3 that a byte holds as a fraction.
inline std::uint8_t trit_of(std::byte fraction, int index) {
  constexpr unsigned powers[] = {1, 3, 9, 27, 81};
  return static_cast<std::uint8_t>((static_cast<unsigned>(fraction) * powers[index] & 255U) * 3U >> 8);
}

inline void read_tq1_0(const std::byte* source, integer_block& block) {
  const auto read = [&](const std::byte* bytes, int count, int digits, int first) {
    for (int digit = 0; digit < digits; ++digit)
      for (int i = 0; i < count; ++i) block.codes[first + count * digit + i] = trit_of(bytes[i], digit);
  };
  read(source, 32, 5, 0);
  read(source + 32, 16, 5, 160);
  read(source + 48, 4, 4, 240);
}

inline void read_tq2_0(const std::byte* source, integer_block& block) {
  for (int i = 0; i < 32; ++i) {
    const auto eight = read_as<std::uint64_t>(source + i / 16 * 32 + i % 4 * 8);
    set_eight(block, i, eight >> i / 4 % 4 * 2 & in_each_byte(3));
  }
}

inline void read_q1_0(const std::byte* source, integer_block& block) {
  for (int i = 0; i < 16; ++i) set_eight(block, i, spread_signs(byte_of(source, 2 + i)) >> 2);
}

inline void read_q2_0(const std::byte* source, integer_block& block) {
  for (int i = 0; i < 8; ++i) set_eight(block, i, spread_pairs(read_as<std::uint16_t>(source + 2 + 2 * i)));
}

}  // namespace detail

/// Where in a block its 16-bit scale is; of iq1_m it has no place of its own.
constexpr std::ptrdiff_t integer_scale_offset(element_type type) noexcept {
  return type == element_type::tq1_0 ? 52 : type == element_type::tq2_0 ? 64 : 0;
}

/// Takes a block apart, whose type has integer blocks. It needs no alignment.
template <element_type Type>
integer_block read_integer_block(const std::byte* source) {
  static_assert(has_integer_blocks(Type));
  integer_block block;
  if constexpr (Type == element_type::iq1_m)
    block.scale = detail::iq1_m_scale(source);
  else
    block.scale = detail::read_as<std::uint16_t>(source + integer_scale_offset(Type));
  if constexpr (Type == element_type::iq1_s)
    detail::read_iq1_s(source, block);
  else if constexpr (Type == element_type::iq1_m)
    detail::read_iq1_m(source, block);
  else if constexpr (Type == element_type::iq2_xxs)
    detail::read_iq2_xxs(source, block);
  else if constexpr (Type == element_type::iq2_xs)
    detail::read_iq2_xs(source, block);
  else if constexpr (Type == element_type::iq2_s)
    detail::read_iq2_s(source, block);
  else if constexpr (Type == element_type::iq3_xxs)
    detail::read_iq3_xxs(source, block);
  else if constexpr (Type == element_type::iq3_s)
    detail::read_iq3_s(source, block);
  else if constexpr (Type == element_type::tq1_0)
    detail::read_tq1_0(source, block);
  else if constexpr (Type == element_type::tq2_0)
    detail::read_tq2_0(source, block);
  else if constexpr (Type == element_type::q1_0)
    detail::read_q1_0(source, block);
  else
    detail::read_q2_0(source, block);
  if constexpr (&table_of(Type) == &detail::two_bit_values) std::memset(block.factors, 1, sizeof block.factors);
  return block;
}

}  // namespace cogen
