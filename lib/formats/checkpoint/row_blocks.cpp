#include "formats/checkpoint/row_blocks.hpp"

#include "formats/checkpoint/scaled_blocks.hpp"

#include <cogen/detail/half.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace cogen::load {
namespace {

constexpr std::int64_t block_inputs = 32;

float scale_at(element_type type, const std::byte* bytes) {
  std::uint16_t half = 0;
  float number = 0;
  switch (type) {
    case element_type::f32:
      std::memcpy(&number, bytes, sizeof number);
      return number;
    case element_type::f16:
      std::memcpy(&half, bytes, sizeof half);
      return f16_to_f32(half);
    case element_type::bf16:
      std::memcpy(&half, bytes, sizeof half);
      return bf16_to_f32(half);
    case element_type::f8_e4m3:
      return e4m3_to_f32(static_cast<std::uint8_t>(*bytes));
    default:
      return e8m0_to_f32(static_cast<std::uint8_t>(*bytes));
  }
}

std::size_t group_of(std::int64_t input, std::int64_t group) { return static_cast<std::size_t>(input / group); }

template <class Number>
void put(Number number, std::byte*& out) {
  std::memcpy(out, &number, sizeof number);
  out += sizeof number;
}

// Elements i and i + 16 of 32 share byte i.
template <class Code>
void put_nibbles(Code code, std::uint8_t (&nibbles)[16]) {
  for (int i = 0; i < 16; ++i) nibbles[i] = static_cast<std::uint8_t>((code(i) & 15) | (code(i + 16) & 15) << 4);
}

// Calls make(block, first code, scale, zero) for each 32 inputs.
template <class Block, class Make>
void write_blocks(const integer_row& row, std::byte* out, Make make) {
  for (std::int64_t first = 0; first < std::ssize(row.codes); first += block_inputs) {
    Block block;
    const auto group = group_of(first, row.group);
    make(block, row.codes.data() + first, row.scales[group], row.zeros[group]);
    put(block, out);
  }
}

std::uint8_t nibble_at(std::span<const std::uint8_t> bytes, std::int64_t number) {
  return bytes[static_cast<std::size_t>(number / 2)] >> (number % 2 * 4) & 15;
}

}  // namespace

bool is_scale_type(element_type type) noexcept {
  constexpr element_type types[] = {element_type::f32,     element_type::f16,     element_type::bf16,
                                    element_type::f8_e4m3, element_type::f8_e8m0, element_type::u8};
  return std::ranges::find(types, type) != std::end(types);
}

std::vector<float> read_scales(const tensor_file& file, const tensor_info& tensor, std::int64_t first,
                               std::int64_t count) {
  const auto bytes = layout(tensor.type).bytes;
  std::vector<std::byte> stored(static_cast<std::size_t>(count * bytes));
  file.read(tensor, static_cast<std::uint64_t>(first * bytes), stored);
  std::vector<float> scales;
  for (std::int64_t index = 0; index < count; ++index)
    scales.push_back(scale_at(tensor.type, stored.data() + index * bytes));
  return scales;
}

bool fit_float16(const tensor_file& file, const tensor_info& scales) {
  if (scales.type == element_type::f16) return true;
  constexpr std::int64_t at_once = 1 << 18;
  const auto count = element_count(scales);
  for (std::int64_t first = 0; first < count; first += at_once) {
    const auto some = read_scales(file, scales, first, std::min(at_once, count - first));
    if (!std::ranges::all_of(some, [](float scale) { return f16_to_f32(f32_to_f16(scale)) == scale; })) return false;
  }
  return true;
}

std::uint8_t code_at(std::span<const std::uint32_t> words, int bits, std::size_t bit) {
  const auto word = bit / 32;
  std::uint64_t both = word < words.size() ? words[word] : 0;
  if (word + 1 < words.size()) both |= static_cast<std::uint64_t>(words[word + 1]) << 32;
  return static_cast<std::uint8_t>(both >> bit % 32 & ((1U << bits) - 1));
}

void unpack_codes(std::span<const std::uint32_t> words, int bits, std::span<std::uint8_t> codes) {
  const auto width = static_cast<std::size_t>(bits);
  if (32 % width != 0) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = code_at(words, bits, i * width);
    return;
  }
  const auto in_word = 32 / width;
  for (std::size_t first = 0; first < codes.size(); first += in_word) {
    auto word = words[first / in_word];
    for (auto& code : codes.subspan(first, std::min(in_word, codes.size() - first))) {
      code = static_cast<std::uint8_t>(word & ((1U << width) - 1));
      word >>= width;
    }
  }
}

element_type type_of_integers(int bits, std::int64_t inputs, std::int64_t group, bool halves) noexcept {
  if (inputs % block_inputs != 0 || group % block_inputs != 0) return element_type::f32;
  if (bits > 4) return halves ? element_type::q8_0 : element_type::q8_zero;
  return halves ? element_type::q4_0 : element_type::q4_zero;
}

void write_integers(element_type type, const integer_row& row, std::byte* out) {
  switch (type) {
    case element_type::q4_0:
      return write_blocks<q4_0_block>(row, out,
                                      [](q4_0_block& block, const std::uint8_t* codes, float scale, std::uint8_t zero) {
                                        block.scale = f32_to_f16(scale);
                                        put_nibbles([&](int i) { return codes[i] - zero + 8; }, block.nibbles);
                                      });
    case element_type::q8_0:
      return write_blocks<q8_0_block>(row, out,
                                      [](q8_0_block& block, const std::uint8_t* codes, float scale, std::uint8_t zero) {
                                        block.scale = f32_to_f16(scale);
                                        for (int i = 0; i < 32; ++i)
                                          block.quants[i] = static_cast<std::int8_t>(codes[i] - zero);
                                      });
    case element_type::q4_zero:
      return write_blocks<q4_zero_block>(
          row, out, [](q4_zero_block& block, const std::uint8_t* codes, float scale, std::uint8_t zero) {
            block.scale = scale;
            block.zero = zero;
            put_nibbles([&](int i) { return codes[i]; }, block.nibbles);
          });
    case element_type::q8_zero:
      return write_blocks<q8_zero_block>(
          row, out, [](q8_zero_block& block, const std::uint8_t* codes, float scale, std::uint8_t zero) {
            block.scale = scale;
            block.zero = zero;
            std::copy_n(codes, 32, block.codes);
          });
    case element_type::f32:
      for (std::int64_t i = 0; i < std::ssize(row.codes); ++i) {
        const auto group = row.order.empty() ? group_of(i, row.group)
                                             : static_cast<std::size_t>(row.order[static_cast<std::size_t>(i)]);
        put(row.scales[group] * static_cast<float>(row.codes[static_cast<std::size_t>(i)] - row.zeros[group]), out);
      }
      return;
    default:
      throw std::logic_error("integers have no such form");
  }
}

void write_e4m3(element_type type, std::span<const std::uint8_t> codes, std::span<const float> scales,
                std::int64_t group, std::byte* out) {
  if (type == element_type::scaled_e4m3) {
    for (std::size_t first = 0; first < codes.size(); first += sizeof(scaled_e4m3_block::codes)) {
      scaled_e4m3_block block;
      block.scale = scales[group_of(static_cast<std::int64_t>(first), group)];
      std::ranges::copy(codes.subspan(first, sizeof block.codes), block.codes);
      put(block, out);
    }
    return;
  }
  for (std::int64_t i = 0; i < std::ssize(codes); ++i)
    put(scales[group_of(i, group)] * e4m3_to_f32(codes[static_cast<std::size_t>(i)]), out);
}

void write_e2m1(element_type type, std::span<const std::uint8_t> bytes, std::span<const float> scales, std::byte* out) {
  const auto inputs = 2 * std::ssize(bytes);
  if (type == element_type::f32) {
    for (std::int64_t i = 0; i < inputs; ++i)
      put(scales[group_of(i, 16)] * (0.5F * static_cast<float>(e2m1_halves[nibble_at(bytes, i)])), out);
    return;
  }
  for (std::int64_t first = 0; first < inputs; first += block_inputs) {
    scaled_e2m1_block block;
    std::ranges::copy(scales.subspan(group_of(first, 16), 2), block.scales);
    put_nibbles([&](int i) { return nibble_at(bytes, first + i); }, block.nibbles);
    put(block, out);
  }
}

void write_nvfp4(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> scales, std::byte* out) {
  constexpr std::size_t groups = sizeof(nvfp4_block::scales);
  for (std::size_t first = 0; first < scales.size(); first += groups) {
    nvfp4_block block;
    std::ranges::copy(scales.subspan(first, groups), block.scales);
    for (std::size_t group = 0; group < groups; ++group)
      for (std::size_t i = 0; i < 8; ++i) {
        const auto number = static_cast<std::int64_t>((first + group) * 16 + i);
        block.nibbles[group * 8 + i] =
            static_cast<std::uint8_t>(nibble_at(bytes, number) | nibble_at(bytes, number + 8) << 4);
      }
    put(block, out);
  }
}

void write_mxfp4(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> exponents, std::byte* out) {
  for (std::size_t index = 0; index < exponents.size(); ++index) {
    mxfp4_block block;
    block.exponent = exponents[index];
    const auto first = static_cast<std::int64_t>(index) * block_inputs;
    put_nibbles([&](int i) { return nibble_at(bytes, first + i); }, block.nibbles);
    put(block, out);
  }
}

}  // namespace cogen::load
