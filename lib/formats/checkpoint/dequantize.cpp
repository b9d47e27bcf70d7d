#include "formats/checkpoint/dequantize.hpp"

#include "formats/checkpoint/scaled_blocks.hpp"

#include <cogen/detail/half.hpp>
#include <cogen/detail/integer_block.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace cogen::load {
namespace {

struct f16_bits {
  std::uint16_t bits;
};

struct bf16_bits {
  std::uint16_t bits;
};

void expand(float value, float* out) { *out = value; }
void expand(double value, float* out) { *out = static_cast<float>(value); }
void expand(f16_bits value, float* out) { *out = f16_to_f32(value.bits); }
void expand(bf16_bits value, float* out) { *out = bf16_to_f32(value.bits); }

int low(std::uint8_t pair) { return pair & 0x0F; }
int high(std::uint8_t pair) { return pair >> 4; }

int fifth_bit(const std::uint8_t (&bits)[4], int element) { return (bits[element / 8] >> (element % 8) & 1) << 4; }

template <class Block, class Value>
void expand_nibbles(const Block& block, float* out, Value value) {
  for (int i = 0; i < 16; ++i) {
    out[i] = value(low(block.nibbles[i]), i);
    out[i + 16] = value(high(block.nibbles[i]), i + 16);
  }
}

void expand(const q4_0_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  expand_nibbles(block, out, [=](int q, int) { return scale * static_cast<float>(q - 8); });
}

void expand(const q4_1_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  const float minimum = f16_to_f32(block.minimum);
  expand_nibbles(block, out, [=](int q, int) { return scale * static_cast<float>(q) + minimum; });
}

void expand(const q5_0_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  expand_nibbles(block, out,
                 [&](int q, int i) { return scale * static_cast<float>((q | fifth_bit(block.fifth_bits, i)) - 16); });
}

void expand(const q5_1_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  const float minimum = f16_to_f32(block.minimum);
  expand_nibbles(block, out, [&](int q, int i) {
    return scale * static_cast<float>(q | fifth_bit(block.fifth_bits, i)) + minimum;
  });
}

void expand(const q8_0_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
}

template <class Block>
void expand_with_minima(const Block& block, float* out) {
  const float scale = f16_to_f32(block.scale), minimum = f16_to_f32(block.minimum);
  for (int i = 0; i < 256; ++i) {
    const float least = minimum * static_cast<float>(q4_k_block::minimum_of(block.scales, i / 32));
    out[i] =
        scale * static_cast<float>(q4_k_block::scale_of(block.scales, i / 32)) * static_cast<float>(block.value(i)) -
        least;
  }
}

void expand(const q4_k_block& block, float* out) { expand_with_minima(block, out); }
void expand(const q5_k_block& block, float* out) { expand_with_minima(block, out); }

void expand(const q6_k_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < 256; ++i) {
    const int group = i / 16;
    out[i] = scale * static_cast<float>(block.scales[group]) * static_cast<float>(block.value(i) - 32);
  }
}

void expand(const q2_k_block& block, float* out) {
  const float scale = f16_to_f32(block.scale), minimum = f16_to_f32(block.minimum);
  for (int i = 0; i < 256; ++i) {
    const float own = scale * static_cast<float>(low(block.scales[i / 16]));
    const float least = minimum * static_cast<float>(high(block.scales[i / 16]));
    out[i] = own * static_cast<float>(block.value(i)) - least;
  }
}

void expand(const q3_k_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < 256; ++i) {
    const float own = scale * static_cast<float>(block.scale_of(i / 16) - 32);
    out[i] = own * static_cast<float>(block.value(i) - 4);
  }
}

void expand(const iq4_nl_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  expand_nibbles(block, out, [=](int q, int) { return scale * static_cast<float>(iq4_values[q]); });
}

void expand(const iq4_xs_block& block, float* out) {
  const float scale = f16_to_f32(block.scale);
  for (int i = 0; i < 256; ++i) {
    const float own = scale * static_cast<float>(block.scale_of(i / 32) - 32);
    out[i] = own * static_cast<float>(iq4_values[block.value(i)]);
  }
}

void expand(const mxfp4_block& block, float* out) {
  const float half = std::ldexp(1.0F, block.exponent - 128);
  expand_nibbles(block, out, [=](int q, int) { return half * static_cast<float>(e2m1_halves[q]); });
}

void expand(const q4_zero_block& block, float* out) {
  const float scale = block.scale;
  const int zero = block.zero;
  expand_nibbles(block, out, [=](int q, int) { return scale * static_cast<float>(q - zero); });
}

void expand(const q8_zero_block& block, float* out) {
  for (int i = 0; i < 32; ++i) out[i] = block.scale * static_cast<float>(block.codes[i] - block.zero);
}

void expand(const scaled_e4m3_block& block, float* out) {
  for (int i = 0; i < 128; ++i) out[i] = block.scale * e4m3_to_f32(block.codes[i]);
}

void expand(const scaled_e2m1_block& block, float* out) {
  expand_nibbles(block, out,
                 [&](int q, int i) { return block.scales[i / 16] * (0.5F * static_cast<float>(e2m1_halves[q])); });
}

void expand(const nvfp4_block& block, float* out) {
  for (int i = 0; i < 64; ++i) out[i] = block.scale_of(i / 16) / 2 * static_cast<float>(e2m1_halves[block.value(i)]);
}

template <class Block>
void expand_all(std::span<const std::byte> blocks, float* out, std::int64_t elements) {
  for (; !blocks.empty(); blocks = blocks.subspan(sizeof(Block)), out += elements) {
    Block block;
    std::memcpy(&block, blocks.data(), sizeof(Block));
    expand(block, out);
  }
}

template <element_type Type>
void expand_integers(std::span<const std::byte> blocks, float* out) {
  constexpr auto elements = static_cast<int>(layout(Type).elements);
  constexpr auto bytes = static_cast<std::size_t>(layout(Type).bytes);
  const auto& [values, unit] = table_of(Type);
  for (; !blocks.empty(); blocks = blocks.subspan(bytes), out += elements) {
    const auto block = read_integer_block<Type>(blocks.data());
    const float scale = unit * f16_to_f32(block.scale);
    for (int i = 0; i < elements; ++i) {
      const int group = i / integer_block::group;
      out[i] = scale * static_cast<float>(block.factors[group]) * static_cast<float>(values[block.codes[i]]);
    }
  }
}

void check_sizes(element_type type, std::size_t bytes, std::size_t elements) {
  if (!has_float_form(type)) throw std::invalid_argument(fmt::format("{} has no float form", to_string(type)));
  const auto [block_elements, block_bytes] = layout(type);
  const auto blocks = bytes / static_cast<std::size_t>(block_bytes);
  if (bytes % static_cast<std::size_t>(block_bytes) != 0 ||
      blocks * static_cast<std::size_t>(block_elements) != elements) {
    throw std::invalid_argument(fmt::format("{} bytes of {} are not {} elements: {} elements take {} bytes", bytes,
                                            to_string(type), elements, block_elements, block_bytes));
  }
}

}  // namespace

bool has_float_form(element_type type) noexcept {
  switch (type) {
    case element_type::f32:
    case element_type::f16:
    case element_type::bf16:
    case element_type::f64:
      return true;
    default:
      return is_quantized(type);
  }
}

void dequantize(element_type type, std::span<const std::byte> blocks, std::span<float> out) {
  check_sizes(type, blocks.size(), out.size());
  const auto elements = layout(type).elements;
  switch (type) {
    case element_type::f32:
      return expand_all<float>(blocks, out.data(), elements);
    case element_type::f64:
      return expand_all<double>(blocks, out.data(), elements);
    case element_type::f16:
      return expand_all<f16_bits>(blocks, out.data(), elements);
    case element_type::bf16:
      return expand_all<bf16_bits>(blocks, out.data(), elements);
    case element_type::q4_0:
      return expand_all<q4_0_block>(blocks, out.data(), elements);
    case element_type::q4_1:
      return expand_all<q4_1_block>(blocks, out.data(), elements);
    case element_type::q5_0:
      return expand_all<q5_0_block>(blocks, out.data(), elements);
    case element_type::q5_1:
      return expand_all<q5_1_block>(blocks, out.data(), elements);
    case element_type::q8_0:
      return expand_all<q8_0_block>(blocks, out.data(), elements);
    case element_type::q4_k:
      return expand_all<q4_k_block>(blocks, out.data(), elements);
    case element_type::q5_k:
      return expand_all<q5_k_block>(blocks, out.data(), elements);
    case element_type::q6_k:
      return expand_all<q6_k_block>(blocks, out.data(), elements);
    case element_type::q2_k:
      return expand_all<q2_k_block>(blocks, out.data(), elements);
    case element_type::q3_k:
      return expand_all<q3_k_block>(blocks, out.data(), elements);
    case element_type::iq4_nl:
      return expand_all<iq4_nl_block>(blocks, out.data(), elements);
    case element_type::iq4_xs:
      return expand_all<iq4_xs_block>(blocks, out.data(), elements);
    case element_type::mxfp4:
      return expand_all<mxfp4_block>(blocks, out.data(), elements);
    case element_type::q4_zero:
      return expand_all<q4_zero_block>(blocks, out.data(), elements);
    case element_type::q8_zero:
      return expand_all<q8_zero_block>(blocks, out.data(), elements);
    case element_type::scaled_e4m3:
      return expand_all<scaled_e4m3_block>(blocks, out.data(), elements);
    case element_type::scaled_e2m1:
      return expand_all<scaled_e2m1_block>(blocks, out.data(), elements);
    case element_type::nvfp4:
      return expand_all<nvfp4_block>(blocks, out.data(), elements);
    case element_type::iq1_s:
      return expand_integers<element_type::iq1_s>(blocks, out.data());
    case element_type::iq1_m:
      return expand_integers<element_type::iq1_m>(blocks, out.data());
    case element_type::iq2_xxs:
      return expand_integers<element_type::iq2_xxs>(blocks, out.data());
    case element_type::iq2_xs:
      return expand_integers<element_type::iq2_xs>(blocks, out.data());
    case element_type::iq2_s:
      return expand_integers<element_type::iq2_s>(blocks, out.data());
    case element_type::iq3_xxs:
      return expand_integers<element_type::iq3_xxs>(blocks, out.data());
    case element_type::iq3_s:
      return expand_integers<element_type::iq3_s>(blocks, out.data());
    case element_type::tq1_0:
      return expand_integers<element_type::tq1_0>(blocks, out.data());
    case element_type::tq2_0:
      return expand_integers<element_type::tq2_0>(blocks, out.data());
    case element_type::q1_0:
      return expand_integers<element_type::q1_0>(blocks, out.data());
    case element_type::q2_0:
      return expand_integers<element_type::q2_0>(blocks, out.data());
    default:
      return;
  }
}

}  // namespace cogen::load
