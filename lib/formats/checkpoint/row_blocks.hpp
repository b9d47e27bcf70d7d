#pragma once

#include "formats/checkpoint/tensor_file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Rows of codes and scales as blocks of an element_type, which hold the same numbers.
namespace cogen::load {

/// Numbers [first, first + count) of a tensor of scales, of f32, f16, bf16, f8_e4m3 or exponents (f8_e8m0, u8).
std::vector<float> read_scales(const tensor_file& file, const tensor_info& tensor, std::int64_t first,
                               std::int64_t count);

/// Whether read_scales() reads the type.
bool is_scale_type(element_type type) noexcept;

/// Whether float16 holds all of them as they are.
bool fit_float16(const tensor_file& file, const tensor_info& scales);

/// How many parts of a size hold so many numbers, the last of which need not be full.
constexpr std::int64_t divided_up(std::int64_t number, std::int64_t size) { return (number + size - 1) / size; }

/// Of the words that hold packed codes.
inline constexpr std::int64_t word_bits = 32;

/// Codes of so many bits that follow one another from low bits on, one in each byte of `codes`. There are as many words
/// as they take.
void unpack_codes(std::span<const std::uint32_t> words, int bits, std::span<std::uint8_t> codes);

/// The code of so many bits that begins at a bit of such words.
std::uint8_t code_at(std::span<const std::uint32_t> words, int bits, std::size_t bit);

/// w[i] = (codes[i] - zeros[g]) * scales[g], where g is order[i], or i / group if there is no order.
struct integer_row {
  std::span<const std::uint8_t> codes;
  std::span<const float> scales;
  std::span<const std::uint8_t> zeros;
  std::int64_t group;
  std::span<const std::int32_t> order = {};
};

/// What holds integers of so many bits in groups of so many inputs, which follow one another. `halves`: float16 holds
/// the scales, and zeros are in the middle.
element_type type_of_integers(int bits, std::int64_t inputs, std::int64_t group, bool halves) noexcept;

/// A row in a type that type_of_integers() gives, or in f32, which holds one with an order.
void write_integers(element_type type, const integer_row& row, std::byte* out);

/// w[i] = codes[i] * scales[i / group], of codes in E4M3: as scaled_e4m3, or f32 where groups are others than 128.
void write_e4m3(element_type type, std::span<const std::uint8_t> codes, std::span<const float> scales,
                std::int64_t group, std::byte* out);

/// The same of codes in E2M1, of which byte i has numbers 2 i, in its low nibble, and 2 i + 1, and scales for each 16
/// inputs: as scaled_e2m1, or f32.
void write_e2m1(element_type type, std::span<const std::uint8_t> bytes, std::span<const float> scales, std::byte* out);

/// The same of scales in E4M3 without a sign, as nvfp4: of a multiple of 64 inputs.
void write_nvfp4(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> scales, std::byte* out);

/// The same of exponents for each 32 inputs: as mxfp4.
void write_mxfp4(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> exponents, std::byte* out);

}  // namespace cogen::load
