#pragma once

#include "formats/checkpoint/dequantize.hpp"
#include "formats/checkpoint/quantized_blocks.hpp"
#include "formats/checkpoint/scaled_blocks.hpp"
#include "network/kernels/convert.hpp"
#include "network/kernels/tiled_matrix.hpp"

#include <cogen/detail/integer_block.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace cogen::kernels {

/// Random rows in a source format, and the values that GGML's definition of the format gives them.
struct encoder_rows {
  element_type format;
  std::int64_t rows;
  std::int64_t inputs;
  std::vector<std::byte> bytes;
  std::vector<float> values;

  weight_source source() const {
    return {format, rows, [this](std::int64_t first, std::int64_t, std::byte*) {
              return bytes.data() + first * row_bytes(format, inputs);
            }};
  }
};

inline constexpr element_type all_formats[] = {
    element_type::f32,     element_type::f16,     element_type::bf16,        element_type::q4_0,
    element_type::q4_1,    element_type::q5_0,    element_type::q5_1,        element_type::q8_0,
    element_type::iq4_nl,  element_type::mxfp4,   element_type::q2_k,        element_type::q3_k,
    element_type::q4_k,    element_type::q5_k,    element_type::q6_k,        element_type::iq4_xs,
    element_type::iq1_s,   element_type::iq1_m,   element_type::iq2_xxs,     element_type::iq2_xs,
    element_type::iq2_s,   element_type::iq3_xxs, element_type::iq3_s,       element_type::tq1_0,
    element_type::tq2_0,   element_type::nvfp4,   element_type::q1_0,        element_type::q2_0,
    element_type::q4_zero, element_type::q8_zero, element_type::scaled_e4m3, element_type::scaled_e2m1};

/// Those whose values are integers, which compute_type::int8 multiplies.
inline constexpr element_type integer_formats[] = {
    element_type::q4_0,    element_type::q4_1,    element_type::q5_0,       element_type::q5_1,    element_type::q8_0,
    element_type::iq4_nl,  element_type::mxfp4,   element_type::q2_k,       element_type::q3_k,    element_type::q4_k,
    element_type::q5_k,    element_type::q6_k,    element_type::iq4_xs,     element_type::iq1_s,   element_type::iq1_m,
    element_type::iq2_xxs, element_type::iq2_xs,  element_type::iq2_s,      element_type::iq3_xxs, element_type::iq3_s,
    element_type::tq1_0,   element_type::tq2_0,   element_type::nvfp4,      element_type::q1_0,    element_type::q2_0,
    element_type::q4_zero, element_type::q8_zero, element_type::scaled_e2m1};

/// A number of inputs that the format can have: `inputs`, or the next whole number of blocks.
inline std::int64_t whole_blocks(element_type format, std::int64_t inputs) {
  const std::int64_t block = layout(format).elements;
  return (inputs + block - 1) / block * block;
}

/// In the headers of GGUF files, or none for types of folders.
inline std::uint32_t ggml_number(element_type format) {
  switch (format) {
    case element_type::f32:
      return 0;
    case element_type::f16:
      return 1;
    case element_type::bf16:
      return 30;
    case element_type::q4_0:
      return 2;
    case element_type::q4_1:
      return 3;
    case element_type::q5_0:
      return 6;
    case element_type::q5_1:
      return 7;
    case element_type::q8_0:
      return 8;
    case element_type::iq4_nl:
      return 20;
    case element_type::mxfp4:
      return 39;
    case element_type::q2_k:
      return 10;
    case element_type::q3_k:
      return 11;
    case element_type::q4_k:
      return 12;
    case element_type::q5_k:
      return 13;
    case element_type::q6_k:
      return 14;
    case element_type::iq4_xs:
      return 23;
    case element_type::iq1_s:
      return 19;
    case element_type::iq1_m:
      return 29;
    case element_type::iq2_xxs:
      return 16;
    case element_type::iq2_xs:
      return 17;
    case element_type::iq2_s:
      return 22;
    case element_type::iq3_xxs:
      return 18;
    case element_type::iq3_s:
      return 21;
    case element_type::tq1_0:
      return 34;
    case element_type::tq2_0:
      return 35;
    case element_type::nvfp4:
      return 40;
    case element_type::q1_0:
      return 41;
    case element_type::q2_0:
      return 42;
    default:
      return ~0U;
  }
}

class row_writer {
 public:
  row_writer(element_type format, std::int64_t rows, std::int64_t inputs, std::uint32_t seed)
      : engine_(seed), out_{format, rows, inputs, {}, {}} {}

  encoder_rows write() {
    const std::int64_t count = out_.rows * out_.inputs;
    for (std::int64_t offset = 0; offset < count; offset += whole_blocks(out_.format, 1)) add();
    return std::move(out_);
  }

 private:
  void add() {
    switch (out_.format) {
      case element_type::iq4_nl:
        return add_iq4_nl();
      case element_type::mxfp4:
        return add_mxfp4();
      case element_type::q2_k:
        return add_q2_k();
      case element_type::q3_k:
        return add_q3_k();
      case element_type::iq4_xs:
        return add_iq4_xs();
      case element_type::q4_k:
        return add_block_with_minima<load::q4_k_block>();
      case element_type::q5_k:
        return add_block_with_minima<load::q5_k_block>();
      case element_type::q6_k:
        return add_q6_k();
      case element_type::q4_zero:
        return add_q4_zero();
      case element_type::q8_zero:
        return add_q8_zero();
      case element_type::scaled_e4m3:
        return add_e4m3();
      case element_type::scaled_e2m1:
        return add_e2m1();
      case element_type::nvfp4:
        return add_nvfp4();
      default:
        if (has_integer_blocks(out_.format)) return add_integers();
        return is_quantized(out_.format) ? add_block() : add_number();
    }
  }

  template <class T>
  void put(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out_.bytes.insert(out_.bytes.end(), bytes, bytes + sizeof value);
  }

  float sample(float scale) { return std::normal_distribution<float>(0.0F, scale)(engine_); }

  float put_half(float value) {
    const std::uint16_t half = float_to_f16(value);
    put(half);
    return f16_to_float(half);
  }

  void add_number() {
    const float value = sample(0.1F);
    switch (out_.format) {
      case element_type::f32:
        put(value);
        return out_.values.push_back(value);
      case element_type::f16:
        return out_.values.push_back(put_half(value));
      default:
        put(float_to_bf16(value));
        return out_.values.push_back(bf16_to_float(float_to_bf16(value)));
    }
  }

  template <class Block>
  Block random_block() {
    Block block;
    auto* bytes = reinterpret_cast<unsigned char*>(&block);
    for (std::size_t byte = 0; byte < sizeof block; ++byte) bytes[byte] = static_cast<unsigned char>(engine_());
    block.scale = float_to_f16(sample(0.001F));
    return block;
  }

  template <class Block>
  void add_block_with_minima() {
    auto block = random_block<Block>();
    block.minimum = float_to_f16(sample(0.001F));
    const float scale = f16_to_float(block.scale), minimum = f16_to_float(block.minimum);
    for (int index = 0; index < 256; ++index) {
      const auto own = static_cast<float>(load::q4_k_block::scale_of(block.scales, index / 32));
      const float least = minimum * static_cast<float>(load::q4_k_block::minimum_of(block.scales, index / 32));
      out_.values.push_back(scale * own * static_cast<float>(block.value(index)) - least);
    }
    put(block);
  }

  void add_q6_k() {
    const auto block = random_block<load::q6_k_block>();
    const float scale = f16_to_float(block.scale);
    for (int index = 0; index < 256; ++index) {
      const int group = index / 16;
      out_.values.push_back(scale * static_cast<float>(block.scales[group]) *
                            static_cast<float>(block.value(index) - 32));
    }
    put(block);
  }

  void add_iq4_nl() {
    const auto block = random_block<load::iq4_nl_block>();
    const float scale = f16_to_float(block.scale);
    for (int index = 0; index < 32; ++index)
      out_.values.push_back(scale * static_cast<float>(iq4_values[block.nibbles[index % 16] >> index / 16 * 4 & 15]));
    put(block);
  }

  void add_mxfp4() {
    constexpr float numbers[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
    load::mxfp4_block block;
    block.exponent = static_cast<std::uint8_t>(116 + engine_() % 8U);
    for (auto& both : block.nibbles) both = static_cast<std::uint8_t>(engine_());
    const float scale = std::ldexp(1.0F, block.exponent - 127);
    for (int index = 0; index < 32; ++index)
      out_.values.push_back(scale * numbers[block.nibbles[index % 16] >> index / 16 * 4 & 15]);
    put(block);
  }

  void add_q2_k() {
    auto block = random_block<load::q2_k_block>();
    block.minimum = float_to_f16(sample(0.001F));
    const float scale = f16_to_float(block.scale), minimum = f16_to_float(block.minimum);
    for (int index = 0; index < 256; ++index) {
      const float least = minimum * static_cast<float>(block.scales[index / 16] >> 4);
      out_.values.push_back(
          scale * static_cast<float>(block.scales[index / 16] & 15) * static_cast<float>(block.value(index)) - least);
    }
    put(block);
  }

  void add_q3_k() {
    const auto block = random_block<load::q3_k_block>();
    const float scale = f16_to_float(block.scale);
    for (int index = 0; index < 256; ++index)
      out_.values.push_back(scale * static_cast<float>(block.scale_of(index / 16) - 32) *
                            static_cast<float>(block.value(index) - 4));
    put(block);
  }

  void add_iq4_xs() {
    const auto block = random_block<load::iq4_xs_block>();
    const float scale = f16_to_float(block.scale);
    for (int index = 0; index < 256; ++index)
      out_.values.push_back(scale * static_cast<float>(block.scale_of(index / 32) - 32) *
                            static_cast<float>(iq4_values[block.value(index)]));
    put(block);
  }

  void add_q4_zero() {
    load::q4_zero_block block;
    block.scale = sample(0.01F);
    block.zero = static_cast<std::uint8_t>(engine_() % 17U);
    for (auto& both : block.nibbles) both = static_cast<std::uint8_t>(engine_());
    for (int index = 0; index < 32; ++index)
      out_.values.push_back(block.scale *
                            static_cast<float>((block.nibbles[index % 16] >> index / 16 * 4 & 15) - block.zero));
    put(block);
  }

  void add_q8_zero() {
    load::q8_zero_block block;
    block.scale = sample(0.001F);
    block.zero = static_cast<std::uint8_t>(engine_());
    for (auto& code : block.codes) code = static_cast<std::uint8_t>(engine_());
    for (const int code : block.codes) out_.values.push_back(block.scale * static_cast<float>(code - block.zero));
    put(block);
  }

  void add_e4m3() {
    load::scaled_e4m3_block block;
    block.scale = sample(0.001F);
    for (auto& code : block.codes) {
      code = static_cast<std::uint8_t>(engine_());
      if ((code & 127) == 127) code = 0;
      const int exponent = code >> 3 & 15, fraction = code & 7;
      const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                            : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
      out_.values.push_back(block.scale * (code > 127 ? -magnitude : magnitude));
    }
    put(block);
  }

  void add_e2m1() {
    constexpr float numbers[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
    load::scaled_e2m1_block block;
    for (float& scale : block.scales) scale = sample(0.01F);
    for (auto& both : block.nibbles) both = static_cast<std::uint8_t>(engine_());
    for (int index = 0; index < 32; ++index)
      out_.values.push_back(block.scales[index / 16] * numbers[block.nibbles[index % 16] >> index / 16 * 4 & 15]);
    put(block);
  }

  void add_nvfp4() {
    load::nvfp4_block block;
    for (auto& scale : block.scales) scale = static_cast<std::uint8_t>(engine_() % 32U);
    for (auto& both : block.nibbles) both = static_cast<std::uint8_t>(engine_());
    block.scales[3] |= static_cast<std::uint8_t>(engine_() % 2U << 7);  // which counts for nothing
    if (engine_() % 8U == 0) block.scales[1] = 0x7F;
    put_with_values({reinterpret_cast<const std::byte*>(&block), sizeof block});
  }

  void add_integers() {
    std::vector<std::byte> block(static_cast<std::size_t>(layout(out_.format).bytes));
    for (auto& byte : block) byte = static_cast<std::byte>(engine_());
    const std::uint16_t scale = float_to_f16(sample(0.01F));
    if (out_.format == element_type::iq1_m) {
      for (std::size_t nibble = 0; nibble < 4; ++nibble)
        block[49 + 2 * nibble] =
            (block[49 + 2 * nibble] & std::byte{15}) | static_cast<std::byte>((scale >> 4 * nibble & 15) << 4);
    } else {
      std::memcpy(block.data() + integer_scale_offset(out_.format), &scale, sizeof scale);
    }
    put_with_values(block);
  }

  /// Of a type whose reading has been compared with another's.
  void put_with_values(std::span<const std::byte> block) {
    out_.bytes.insert(out_.bytes.end(), block.begin(), block.end());
    const auto first = out_.values.size();
    out_.values.resize(first + static_cast<std::size_t>(layout(out_.format).elements));
    load::dequantize(out_.format, block, std::span(out_.values).subspan(first));
  }

  void add_block() {
    const bool minimum = out_.format == element_type::q4_1 || out_.format == element_type::q5_1;
    const bool fifth = out_.format == element_type::q5_0 || out_.format == element_type::q5_1;
    const bool eight = out_.format == element_type::q8_0;
    const float scale = put_half(sample(0.01F));
    const float offset = minimum ? put_half(sample(0.05F)) : 0.0F;
    const int zero = minimum || eight ? 0 : fifth ? 16 : 8;
    int values[32];
    for (int& value : values)
      value = eight ? static_cast<int>(engine_() % 256U) - 128 : static_cast<int>(engine_() % (fifth ? 32U : 16U));
    if (fifth) {
      std::uint32_t high = 0;
      for (int i = 0; i < 32; ++i) high |= static_cast<std::uint32_t>(values[i] >> 4) << i;
      put(high);
    }
    if (eight)
      for (const int value : values) put(static_cast<std::int8_t>(value));
    else
      for (int i = 0; i < 16; ++i) put(static_cast<std::uint8_t>((values[i] & 15) | (values[i + 16] & 15) << 4));
    for (const int value : values) {
      const float product = static_cast<float>(value - zero) * scale;
      out_.values.push_back(minimum ? product + offset : product);
    }
  }

  std::mt19937 engine_;
  encoder_rows out_;
};

inline encoder_rows random_rows(element_type format, std::int64_t rows, std::int64_t inputs, std::uint32_t seed) {
  return row_writer(format, rows, inputs, seed).write();
}

}  // namespace cogen::kernels
