#pragma once

#include <cstdint>
#include <string_view>

namespace cogen::load {

/// How one tensor's numbers are stored. The q types are GGML's: blocks of 32 elements along a row, each with its own
/// 16-bit scale (and minimum), little-endian, without padding between blocks.
enum class element_type : std::uint8_t {
  f32,
  f16,
  bf16,
  f64,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
};

/// w[i] = scale * (nibble - 8). Elements 0..15 are the low nibbles, 16..31 the high ones.
struct q4_0_block {
  std::uint16_t scale;  // float16 bits
  std::uint8_t nibbles[16];
};

/// w[i] = scale * nibble + minimum. Nibbles as in q4_0_block.
struct q4_1_block {
  std::uint16_t scale;    // float16 bits
  std::uint16_t minimum;  // float16 bits
  std::uint8_t nibbles[16];
};

/// w[i] = scale * (q - 16), q = nibble + 16 * fifth bit; bit i of `fifth_bits`, read as a little-endian 32-bit number.
struct q5_0_block {
  std::uint16_t scale;  // float16 bits
  std::uint8_t fifth_bits[4];
  std::uint8_t nibbles[16];
};

/// w[i] = scale * q + minimum, q as in q5_0_block.
struct q5_1_block {
  std::uint16_t scale;    // float16 bits
  std::uint16_t minimum;  // float16 bits
  std::uint8_t fifth_bits[4];
  std::uint8_t nibbles[16];
};

/// w[i] = scale * quants[i].
struct q8_0_block {
  std::uint16_t scale;  // float16 bits
  std::int8_t quants[32];
};

static_assert(sizeof(q4_0_block) == 18 && sizeof(q4_1_block) == 20);
static_assert(sizeof(q5_0_block) == 22 && sizeof(q5_1_block) == 24 && sizeof(q8_0_block) == 34);

/// The smallest piece of a tensor that can be addressed: so many elements in so many bytes.
struct block_layout {
  std::int64_t elements;
  std::int64_t bytes;
};

constexpr block_layout layout(element_type type) noexcept {
  switch (type) {
    case element_type::i8:
    case element_type::u8:
    case element_type::boolean:
      return {1, 1};
    case element_type::f16:
    case element_type::bf16:
    case element_type::i16:
    case element_type::u16:
      return {1, 2};
    case element_type::f32:
    case element_type::i32:
    case element_type::u32:
      return {1, 4};
    case element_type::f64:
    case element_type::i64:
    case element_type::u64:
      return {1, 8};
    case element_type::q4_0:
      return {32, sizeof(q4_0_block)};
    case element_type::q4_1:
      return {32, sizeof(q4_1_block)};
    case element_type::q5_0:
      return {32, sizeof(q5_0_block)};
    case element_type::q5_1:
      return {32, sizeof(q5_1_block)};
    case element_type::q8_0:
      return {32, sizeof(q8_0_block)};
  }
  return {1, 0};
}

constexpr bool is_quantised(element_type type) noexcept { return layout(type).elements > 1; }

/// "f32", "q4_1", …
std::string_view to_string(element_type type) noexcept;

}  // namespace cogen::load
