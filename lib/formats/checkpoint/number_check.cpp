#include "formats/checkpoint/number_check.hpp"

#include "formats/checkpoint/dequantize.hpp"
#include "formats/checkpoint/scaled_blocks.hpp"

#include <cogen/detail/half.hpp>
#include <cogen/detail/integer_block.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace cogen::load {
namespace {

constexpr float largest_weight = 65504;  // of float16

// The bits of the largest float16 by which so many can be multiplied within largest_weight.
constexpr std::uint16_t largest_scale_bits(float times) {
  auto bits = f32_to_f16(largest_weight / times);
  while (f16_to_f32(bits) * times > largest_weight) --bits;
  return bits;
}

// Numbers of one width that lie side by side at the start of a word or alone, and the largest magnitudes of each, as
// bits.
template <class Word, class Number>
struct limits {
  static constexpr int bits = 8 * sizeof(Number);

  // A magnitude plus its part of this carries into the sign's bit where it is beyond its limit.
  static constexpr Word carry(Number first, Number second) {
    constexpr Number highest = std::numeric_limits<Number>::max() >> 1;
    Word both = static_cast<Word>(highest - first);
    if constexpr (sizeof(Word) > sizeof(Number)) both |= static_cast<Word>(highest - second) << bits;
    return both;
  }
  static constexpr Word signs = sizeof(Word) > sizeof(Number)
                                    ? Word{1} << (bits - 1) | Word{1} << (8 * sizeof(Word) - 1)
                                    : static_cast<Word>(Word{1} << (bits - 1));
};

template <std::size_t Stride, class Word>
bool any_beyond(std::span<const std::byte> blocks, std::size_t offset, Word carry, Word signs) {
  Word found = 0;
  const std::byte* source = blocks.data() + offset;
  for (std::size_t left = blocks.size() / Stride; left > 0; --left, source += Stride) {
    Word word;
    std::memcpy(&word, source, sizeof word);
    found |= static_cast<Word>((word & static_cast<Word>(~signs)) + carry);
  }
  return (found & signs) != 0;
}

// Calls found(first block, description) at the first block in which something is beyond.
template <std::size_t Stride, class Word, class Describe>
std::optional<bad_number> first_beyond(std::span<const std::byte> blocks, std::size_t offset, Word carry, Word signs,
                                       Describe describe) {
  if (!any_beyond<Stride>(blocks, offset, carry, signs)) return std::nullopt;
  std::int64_t number = 0;
  while (!any_beyond<Stride>(blocks.first(Stride), offset, carry, signs)) blocks = blocks.subspan(Stride), ++number;
  return bad_number{number, describe(blocks.data() + offset)};
}

// Plain numbers, of which those up to `largest` are finite in float32.
template <class Number, class Value>
std::optional<bad_number> first_bad_element(std::span<const std::byte> elements, Number largest, Value value) {
  using limit = limits<Number, Number>;
  return first_beyond<sizeof(Number)>(elements, 0, limit::carry(largest, 0), limit::signs, [&](const std::byte* bytes) {
    Number bits;
    std::memcpy(&bits, bytes, sizeof bits);
    return fmt::format("the number {}; numbers finite in float32 are allowed", value(bits));
  });
}

std::uint16_t half_at(const std::byte* bytes) {
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

bool is_beyond(std::uint16_t bits, std::uint16_t limit) { return (bits & 0x7FFF) > limit; }

std::string describe(std::string_view name, std::uint16_t bits, std::uint16_t limit) {
  return fmt::format("the {} {}; magnitudes up to {} are allowed", name, f16_to_f32(bits), f16_to_f32(limit));
}

// Blocks of so many bytes with a scale of 16 bits at `offset` which the codes of a block, its smaller scales among
// them, multiply so many times.
template <std::size_t Bytes>
std::optional<bad_number> first_bad_scale_in(std::span<const std::byte> blocks, std::size_t offset, float codes) {
  using limit = limits<std::uint16_t, std::uint16_t>;
  const auto largest = largest_scale_bits(codes);
  return first_beyond<Bytes>(blocks, offset, limit::carry(largest, 0), limit::signs,
                             [&](const std::byte* bytes) { return describe("scale", half_at(bytes), largest); });
}

template <class Block>
std::optional<bad_number> first_bad_scale(std::span<const std::byte> blocks, std::size_t offset, float codes) {
  return first_bad_scale_in<sizeof(Block)>(blocks, offset, codes);
}

// Of a type with integer blocks.
template <element_type Type>
std::optional<bad_number> first_bad_scale(std::span<const std::byte> blocks, float codes) {
  constexpr auto bytes = static_cast<std::size_t>(layout(Type).bytes);
  return first_bad_scale_in<bytes>(blocks, static_cast<std::size_t>(integer_scale_offset(Type)), codes);
}

template <>
std::optional<bad_number> first_bad_scale<element_type::iq1_m>(std::span<const std::byte> blocks, float codes) {
  constexpr auto bytes = static_cast<std::size_t>(layout(element_type::iq1_m).bytes);
  const auto largest = largest_scale_bits(codes);
  for (std::int64_t number = 0; !blocks.empty(); blocks = blocks.subspan(bytes), ++number) {
    const auto scale = cogen::detail::iq1_m_scale(blocks.data());
    if (is_beyond(scale, largest)) return bad_number{number, describe("scale", scale, largest)};
  }
  return std::nullopt;
}

// The same with a minimum behind the scale.
template <class Block>
std::optional<bad_number> first_bad_pair(std::span<const std::byte> blocks, std::size_t offset, float codes,
                                         float minima) {
  using limit = limits<std::uint32_t, std::uint16_t>;
  const auto scale = largest_scale_bits(codes), minimum = largest_scale_bits(minima);
  return first_beyond<sizeof(Block)>(
      blocks, offset, limit::carry(scale, minimum), limit::signs, [&](const std::byte* bytes) {
        const auto first = half_at(bytes), second = half_at(bytes + sizeof first);
        return is_beyond(first, scale) ? describe("scale", first, scale) : describe("minimum", second, minimum);
      });
}

// Of MXFP4, whose scales are powers of two.
std::optional<bad_number> first_bad_exponent(std::span<const std::byte> blocks) {
  constexpr int bias = 127, largest = 13;  // 6 * 2^13 is within largest_weight
  for (std::int64_t number = 0; !blocks.empty(); blocks = blocks.subspan(sizeof(mxfp4_block)), ++number) {
    const auto exponent = static_cast<int>(blocks[offsetof(mxfp4_block, exponent)]);
    if (exponent <= bias + largest) continue;
    const auto scale = exponent == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, exponent - bias);
    return bad_number{number,
                      fmt::format("the scale {}; magnitudes up to {} are allowed", scale, std::ldexp(1.0F, largest))};
  }
  return std::nullopt;
}

// Blocks with so many scales in float32 at their start, which codes multiply so many times.
template <class Block>
std::optional<bad_number> first_bad_float(std::span<const std::byte> blocks, float codes, int scales = 1) {
  const float largest = largest_weight / codes;
  for (std::int64_t number = 0; !blocks.empty(); blocks = blocks.subspan(sizeof(Block)), ++number)
    for (int index = 0; index < scales; ++index) {
      float scale = 0;
      std::memcpy(&scale, blocks.data() + index * std::int64_t{sizeof scale}, sizeof scale);
      if (std::fabs(scale) <= largest) continue;
      return bad_number{number, fmt::format("the scale {}; magnitudes up to {} are allowed", scale, largest)};
    }
  return std::nullopt;
}

// Of E4M3 all bits but the sign say that it is not a number.
std::optional<bad_number> first_bad_e4m3(std::span<const std::byte> blocks) {
  constexpr float largest = 448;
  constexpr std::uint64_t ones = 0x0101010101010101, signs = 0x80 * ones;
  auto bad = first_bad_float<scaled_e4m3_block>(blocks, largest);
  for (std::int64_t number = 0; !blocks.empty(); blocks = blocks.subspan(sizeof(scaled_e4m3_block)), ++number) {
    if (bad && bad->block <= number) break;
    std::uint64_t found = 0;
    for (std::size_t first = offsetof(scaled_e4m3_block, codes); first < sizeof(scaled_e4m3_block);
         first += sizeof found) {
      std::uint64_t codes = 0;
      std::memcpy(&codes, blocks.data() + first, sizeof codes);
      found |= (codes & ~signs) + ones;
    }
    if ((found & signs) != 0) return bad_number{number, "the number nan; numbers finite in float32 are allowed"};
  }
  return bad;
}

}  // namespace

std::optional<bad_number> first_bad_number(element_type type, std::span<const std::byte> blocks) {
  constexpr float scales_of_4_bits = 15, scales_of_6_bits = 63, signed_scales_of_6_bits = 32;
  constexpr float odd_scales_of_3_bits = 15, odd_scales_of_4_bits = 31;
  switch (type) {
    case element_type::f32:
      return first_bad_element<std::uint32_t>(blocks, 0x7F7FFFFF, [](auto bits) { return std::bit_cast<float>(bits); });
    case element_type::f64:  // from the largest that rounds to a float32
      return first_bad_element<std::uint64_t>(blocks, 0x47EFFFFFEFFFFFFF,
                                              [](auto bits) { return std::bit_cast<double>(bits); });
    case element_type::f16:
      return first_bad_element<std::uint16_t>(blocks, 0x7BFF, f16_to_f32);
    case element_type::bf16:
      return first_bad_element<std::uint16_t>(blocks, 0x7F7F, bf16_to_f32);
    case element_type::q4_0:
      return first_bad_scale<q4_0_block>(blocks, offsetof(q4_0_block, scale), 8);
    case element_type::q4_1:
      return first_bad_pair<q4_1_block>(blocks, offsetof(q4_1_block, scale), 15, 1);
    case element_type::q5_0:
      return first_bad_scale<q5_0_block>(blocks, offsetof(q5_0_block, scale), 16);
    case element_type::q5_1:
      return first_bad_pair<q5_1_block>(blocks, offsetof(q5_1_block, scale), 31, 1);
    case element_type::q8_0:
      return first_bad_scale<q8_0_block>(blocks, offsetof(q8_0_block, scale), 127);
    case element_type::q2_k:
      return first_bad_pair<q2_k_block>(blocks, offsetof(q2_k_block, scale), scales_of_4_bits * 3, scales_of_4_bits);
    case element_type::q3_k:
      return first_bad_scale<q3_k_block>(blocks, offsetof(q3_k_block, scale), signed_scales_of_6_bits * 4);
    case element_type::q4_k:
      return first_bad_pair<q4_k_block>(blocks, offsetof(q4_k_block, scale), scales_of_6_bits * 15, scales_of_6_bits);
    case element_type::q5_k:
      return first_bad_pair<q5_k_block>(blocks, offsetof(q5_k_block, scale), scales_of_6_bits * 31, scales_of_6_bits);
    case element_type::q6_k:
      return first_bad_scale<q6_k_block>(blocks, offsetof(q6_k_block, scale), 127 * 32);
    case element_type::iq4_nl:
      return first_bad_scale<iq4_nl_block>(blocks, offsetof(iq4_nl_block, scale), 127);
    case element_type::iq4_xs:
      return first_bad_scale<iq4_xs_block>(blocks, offsetof(iq4_xs_block, scale), signed_scales_of_6_bits * 127);
    case element_type::mxfp4:
      return first_bad_exponent(blocks);
    case element_type::q4_zero:
      return first_bad_float<q4_zero_block>(blocks, 16);
    case element_type::q8_zero:
      return first_bad_float<q8_zero_block>(blocks, 255);
    case element_type::scaled_e4m3:
      return first_bad_e4m3(blocks);
    case element_type::scaled_e2m1:
      return first_bad_float<scaled_e2m1_block>(blocks, 6, 2);
    case element_type::iq1_s:
      return first_bad_scale<element_type::iq1_s>(blocks, odd_scales_of_3_bits * 9 / 8);
    case element_type::iq1_m:
      return first_bad_scale<element_type::iq1_m>(blocks, odd_scales_of_3_bits * 9 / 8);
    case element_type::iq2_xxs:
      return first_bad_scale<element_type::iq2_xxs>(blocks, odd_scales_of_4_bits * 43 / 8);
    case element_type::iq2_xs:
      return first_bad_scale<element_type::iq2_xs>(blocks, odd_scales_of_4_bits * 43 / 8);
    case element_type::iq2_s:
      return first_bad_scale<element_type::iq2_s>(blocks, odd_scales_of_4_bits * 43 / 8);
    case element_type::iq3_xxs:
      return first_bad_scale<element_type::iq3_xxs>(blocks, odd_scales_of_4_bits * 62 / 4);
    case element_type::iq3_s:
      return first_bad_scale<element_type::iq3_s>(blocks, odd_scales_of_4_bits * 15);
    case element_type::tq1_0:
      return first_bad_scale<element_type::tq1_0>(blocks, 1);
    case element_type::tq2_0:
      return first_bad_scale<element_type::tq2_0>(blocks, 2);
    case element_type::q1_0:
      return first_bad_scale<element_type::q1_0>(blocks, 1);
    case element_type::q2_0:
      return first_bad_scale<element_type::q2_0>(blocks, 2);
    default:
      return std::nullopt;
  }
}

}  // namespace cogen::load
