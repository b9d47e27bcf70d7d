#pragma once

#include <cogen/detail/element_type.hpp>
#include <cogen/detail/half.hpp>

#include <cstdint>

namespace cogen::load {

/// w[i] = scale * (nibble - 8). Elements 0..15 are the low nibbles, 16..31 the high ones.
struct q4_0_block {
  std::uint16_t scale;  ///< float16 bits
  std::uint8_t nibbles[16];
};

/// w[i] = scale * nibble + minimum. Nibbles as in q4_0_block.
struct q4_1_block {
  std::uint16_t scale;    ///< float16 bits
  std::uint16_t minimum;  ///< float16 bits
  std::uint8_t nibbles[16];
};

/// w[i] = scale * (q - 16), q = nibble + 16 * fifth bit; bit i of `fifth_bits`, read as a little-endian 32-bit number.
struct q5_0_block {
  std::uint16_t scale;  ///< float16 bits
  std::uint8_t fifth_bits[4];
  std::uint8_t nibbles[16];
};

/// w[i] = scale * q + minimum, q as in q5_0_block.
struct q5_1_block {
  std::uint16_t scale;    ///< float16 bits
  std::uint16_t minimum;  ///< float16 bits
  std::uint8_t fifth_bits[4];
  std::uint8_t nibbles[16];
};

/// w[i] = scale * quants[i].
struct q8_0_block {
  std::uint16_t scale;  ///< float16 bits
  std::int8_t quants[32];
};

/// w[i] = scale * scales(g) * nibble - minimum * minima(g), g = i / 32. Of each 64 elements the first 32 are the low
/// nibbles of 32 bytes, the others the high ones. `scales` holds eight scales and eight minima of 6 bits.
struct q4_k_block {
  std::uint16_t scale;    ///< float16 bits
  std::uint16_t minimum;  ///< float16 bits
  std::uint8_t scales[12];
  std::uint8_t nibbles[128];

  /// Byte g holds scale g in its low 6 bits and byte 4 + g minimum g, for g below 4. From there on byte 4 + g holds the
  /// low four bits of both, scale first, and the top bits of bytes g - 4 and g their high ones.
  static constexpr int scale_of(const std::uint8_t (&scales)[12], int g) {
    return g < 4 ? scales[g] & 63 : (scales[g + 4] & 15) | (scales[g - 4] >> 6) << 4;
  }
  /// See scale_of().
  static constexpr int minimum_of(const std::uint8_t (&scales)[12], int g) {
    return g < 4 ? scales[g + 4] & 63 : scales[g + 4] >> 4 | (scales[g] >> 6) << 4;
  }
  /// The code of element i, without scale and minimum.
  constexpr int value(int i) const { return nibbles[i / 64 * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4) & 15; }
};

/// As q4_k_block, with a fifth bit: of element i, bit i / 32 of fifth_bits[i % 32].
struct q5_k_block {
  std::uint16_t scale;    ///< float16 bits
  std::uint16_t minimum;  ///< float16 bits
  std::uint8_t scales[12];
  std::uint8_t fifth_bits[32];
  std::uint8_t nibbles[128];

  /// The code of element i, without scale and minimum.
  constexpr int value(int i) const {
    const int low = nibbles[i / 64 * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4) & 15;
    return low | (fifth_bits[i % 32] >> i / 32 & 1) << 4;
  }
};

/// w[i] = scale * scales[i / 16] * (q - 32). Of each 128 elements number 32 a + b (a below 4) has its low four bits in
/// byte 32 (a % 2) + b of 64, low nibbles first, and its high two in bits 2 a of byte b of 32.
struct q6_k_block {
  std::uint8_t nibbles[128];
  std::uint8_t high_bits[64];
  std::int8_t scales[16];
  std::uint16_t scale;  ///< float16 bits

  /// The code of element i, without scale and minimum.
  constexpr int value(int i) const {
    const int half = i / 128, a = i % 128 / 32, b = i % 32;
    const int low = nibbles[64 * half + 32 * (a % 2) + b] >> (a < 2 ? 0 : 4) & 15;
    return low | (high_bits[32 * half + b] >> 2 * a & 3) << 4;
  }
};

/// w[i] = scale * (scales[g] & 15) * q - minimum * (scales[g] >> 4), g = i / 16. Of each 128 elements number 32 a + b
/// (a below 4) has its two bits in bits 2 a of byte b of 32.
struct q2_k_block {
  std::uint8_t scales[16];
  std::uint8_t quants[64];
  std::uint16_t scale;    ///< float16 bits
  std::uint16_t minimum;  ///< float16 bits

  /// The code of element i, without scale and minimum.
  constexpr int value(int i) const { return quants[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3; }
};

/// w[i] = scale * (scale_of(i / 16) - 32) * (q - 4). The low two bits of q as in q2_k_block; its high one, of element
/// i, is bit i / 32 of high_bits[i % 32].
struct q3_k_block {
  std::uint8_t high_bits[32];
  std::uint8_t quants[64];
  std::uint8_t scales[12];
  std::uint16_t scale;  ///< float16 bits

  /// The code of element i, without scale.
  constexpr int value(int i) const {
    const int low = quants[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
    return low | (high_bits[i % 32] >> i / 32 & 1) << 2;
  }
  /// Scale g of sixteen of 6 bits. The low four bits of g and 8 + g lie in byte g, for g below 8; the high two of
  /// 4 a + b in bits 2 a of byte 8 + b, for a and b below 4.
  constexpr int scale_of(int g) const {
    return (scales[g % 8] >> g / 8 * 4 & 15) | (scales[8 + g % 4] >> g / 4 * 2 & 3) << 4;
  }
};

/// w[i] = scale * iq4_values[nibble]. Nibbles as in q4_0_block.
struct iq4_nl_block {
  std::uint16_t scale;  ///< float16 bits
  std::uint8_t nibbles[16];
};

/// w[i] = scale * (scale_of(i / 32) - 32) * iq4_values[value(i)]. Nibbles of each 32 elements as in q4_0_block.
struct iq4_xs_block {
  std::uint16_t scale;        ///< float16 bits
  std::uint16_t high_scales;  ///< two bits of each scale, from the low ones on
  std::uint8_t low_scales[4];
  std::uint8_t nibbles[128];

  /// The code of element i, without scale.
  constexpr int value(int i) const { return nibbles[i / 32 * 16 + i % 16] >> i / 16 % 2 * 4 & 15; }
  /// Scale g of eight of 6 bits.
  constexpr int scale_of(int g) const {
    return (low_scales[g / 2] >> g % 2 * 4 & 15) | (high_scales >> 2 * g & 3) << 4;
  }
};

/// w[i] = 2^(exponent - 128) * e2m1_halves[nibble]; 255 means NaN. Nibbles as in q4_0_block. OCP Microscaling Formats
/// 1.0, MXFP4.
struct mxfp4_block {
  std::uint8_t exponent;
  std::uint8_t nibbles[16];
};

/// w[i] = scale_of(i / 16) / 2 * e2m1_halves[value(i)]. Of each 16 elements the first eight are the low nibbles of
/// eight bytes.
struct nvfp4_block {
  std::uint8_t scales[4];
  std::uint8_t nibbles[32];

  /// The code of element i, without scale.
  constexpr int value(int i) const { return nibbles[i / 16 * 8 + i % 8] >> i / 8 % 2 * 4 & 15; }
  /// Scale g of four, E4M3 without a sign. The code that is NaN elsewhere is 0.
  float scale_of(int g) const {
    const int bits = scales[g] == 0x7F ? 0 : scales[g] & 0x7F;
    return 256 * f16_to_f32(static_cast<std::uint16_t>(bits << 7));  // whose exponent is that of f16 less 8
  }
};

/// Whether a block lies as a file has it.
template <class Block>
constexpr bool is_stored_as(element_type type) {
  return static_cast<std::int64_t>(sizeof(Block)) == layout(type).bytes;
}

static_assert(is_stored_as<q4_0_block>(element_type::q4_0));
static_assert(is_stored_as<q4_1_block>(element_type::q4_1));
static_assert(is_stored_as<q5_0_block>(element_type::q5_0));
static_assert(is_stored_as<q5_1_block>(element_type::q5_1));
static_assert(is_stored_as<q8_0_block>(element_type::q8_0));
static_assert(is_stored_as<q4_k_block>(element_type::q4_k));
static_assert(is_stored_as<q5_k_block>(element_type::q5_k));
static_assert(is_stored_as<q6_k_block>(element_type::q6_k));
static_assert(is_stored_as<q2_k_block>(element_type::q2_k));
static_assert(is_stored_as<q3_k_block>(element_type::q3_k));
static_assert(is_stored_as<iq4_nl_block>(element_type::iq4_nl));
static_assert(is_stored_as<iq4_xs_block>(element_type::iq4_xs));
static_assert(is_stored_as<mxfp4_block>(element_type::mxfp4));
static_assert(is_stored_as<nvfp4_block>(element_type::nvfp4));

}  // namespace cogen::load
