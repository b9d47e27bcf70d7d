#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace cogen {

// clang-format off
/// How the numbers of tensors in files are stored, little-endian: plain numbers, and GGML's blocks of 32 to 256
/// elements along a row, without padding (https://github.com/ggml-org/ggml, docs/gguf.md). A block has a 16-bit scale:
/// q4_0, q5_0, q8_0, iq4_nl; a minimum, too: q4_1, q5_1; and those of 256 smaller scales, for each 32 (q4_k, q5_k with
/// minima, iq4_xs) or each 16 (q3_k, q6_k, q2_k with minima). Codes of iq4 and mxfp4 have unequal steps; mxfp4 is that
/// of OCP's Microscaling Formats 1.0: numbers of 4 bits, and a power of two for each block. Those of nvfp4 have a scale
/// of 8 bits (E4M3) for each 16. Types of few bits have a 16-bit scale, too: codes of iq1 to iq3 are points of a code
/// book (see integer_block.hpp), with smaller scales for each 32 (iq1_s, iq2_xxs, iq3_xxs, iq3_s) or each 16 (iq1_m,
/// iq2_xs, iq2_s); tq1_0 has three values, tq2_0 and q2_0 four, q1_0 two.
///
/// f8_e4m3 and f8_e8m0 are OCP's numbers of 8 bits, which files have as codes and as scales. The last four are blocks
/// that codes and scales of Hugging Face folders are joined to, with scales in float32: of 32 codes with a zero
/// (q4_zero, q8_zero), of 128 numbers of 8 bits (scaled_e4m3), of twice 16 numbers of 4 bits (scaled_e2m1).
///
/// Fingerprints of models, and with them saved sessions, hold these numbers: append new types.
enum class element_type : std::uint8_t {
  f32, f16, bf16, f64,
  i8, i16, i32, i64, u8, u16, u32, u64, boolean,
  q4_0, q4_1, q5_0, q5_1, q8_0,
  q4_k, q5_k, q6_k, q2_k, q3_k,
  iq4_nl, iq4_xs, mxfp4,
  iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s,
  tq1_0, tq2_0, nvfp4, q1_0, q2_0,
  f8_e4m3, f8_e8m0, q4_zero, q8_zero, scaled_e4m3, scaled_e2m1,
};
// clang-format on

/// The smallest piece of a tensor that can be addressed: so many elements in so many bytes.
struct block_layout {
  std::int64_t elements;
  std::int64_t bytes;
};

namespace detail {

struct element_row {
  std::string_view name;
  block_layout layout;
};

inline constexpr element_row element_rows[] = {
    // in the order of element_type
    {"f32", {1, 4}},
    {"f16", {1, 2}},
    {"bf16", {1, 2}},
    {"f64", {1, 8}},
    {"i8", {1, 1}},
    {"i16", {1, 2}},
    {"i32", {1, 4}},
    {"i64", {1, 8}},
    {"u8", {1, 1}},
    {"u16", {1, 2}},
    {"u32", {1, 4}},
    {"u64", {1, 8}},
    {"boolean", {1, 1}},
    {"q4_0", {32, 18}},
    {"q4_1", {32, 20}},
    {"q5_0", {32, 22}},
    {"q5_1", {32, 24}},
    {"q8_0", {32, 34}},
    {"q4_k", {256, 144}},
    {"q5_k", {256, 176}},
    {"q6_k", {256, 210}},
    {"q2_k", {256, 84}},
    {"q3_k", {256, 110}},
    {"iq4_nl", {32, 18}},
    {"iq4_xs", {256, 136}},
    {"mxfp4", {32, 17}},
    {"iq1_s", {256, 50}},
    {"iq1_m", {256, 56}},
    {"iq2_xxs", {256, 66}},
    {"iq2_xs", {256, 74}},
    {"iq2_s", {256, 82}},
    {"iq3_xxs", {256, 98}},
    {"iq3_s", {256, 110}},
    {"tq1_0", {256, 54}},
    {"tq2_0", {256, 66}},
    {"nvfp4", {64, 36}},
    {"q1_0", {128, 18}},
    {"q2_0", {64, 18}},
    {"f8_e4m3", {1, 1}},
    {"f8_e8m0", {1, 1}},
    {"q4_zero", {32, 21}},
    {"q8_zero", {32, 37}},
    {"scaled_e4m3", {128, 132}},
    {"scaled_e2m1", {32, 24}},
};

constexpr element_row row_of(element_type type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(element_rows) ? element_rows[index] : element_row{"unknown", {1, 0}};
}

}  // namespace detail

/// How many types there are, numbered from 0.
inline constexpr std::size_t element_type_count = std::size(detail::element_rows);

/// "f32", "q4_1", …; "unknown" for an unknown value.
constexpr std::string_view to_string(element_type type) noexcept { return detail::row_of(type).name; }

/// No bytes for an unknown value.
constexpr block_layout layout(element_type type) noexcept { return detail::row_of(type).layout; }

constexpr bool is_quantized(element_type type) noexcept { return layout(type).elements > 1; }

/// What the 4-bit codes of the iq4 types stand for.
inline constexpr std::int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

/// The numbers of OCP's FP4 (E2M1), in halves.
inline constexpr std::int8_t e2m1_halves[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace cogen
