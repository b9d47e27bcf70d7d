#pragma once

#include "kernels/convert.hpp"
#include "kernels/packed_matrix.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace cogen::kernels {

/// Random rows in a source format, and the values that GGML's definition of the format gives them.
struct source_rows {
  weight_format format;
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

inline constexpr weight_format all_formats[] = {weight_format::f32,  weight_format::f16,  weight_format::bf16,
                                                weight_format::q4_0, weight_format::q4_1, weight_format::q5_0,
                                                weight_format::q5_1, weight_format::q8_0};

inline bool is_quantised(weight_format format) { return format >= weight_format::q4_0; }

class row_writer {
 public:
  row_writer(weight_format format, std::int64_t rows, std::int64_t inputs, std::uint32_t seed)
      : engine_(seed), out_{format, rows, inputs, {}, {}} {}

  source_rows write() {
    const std::int64_t count = out_.rows * out_.inputs;
    for (std::int64_t at = 0; at < count; at += is_quantised(out_.format) ? 32 : 1)
      is_quantised(out_.format) ? add_block() : add_number();
    return std::move(out_);
  }

 private:
  template <class T>
  void put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    out_.bytes.insert(out_.bytes.end(), from, from + sizeof value);
  }

  float draw(float scale) { return std::normal_distribution<float>(0.0F, scale)(engine_); }

  float put_half(float value) {
    const std::uint16_t half = float_to_f16(value);
    put(half);
    return f16_to_float(half);
  }

  void add_number() {
    const float value = draw(0.1F);
    switch (out_.format) {
      case weight_format::f32:
        put(value);
        return out_.values.push_back(value);
      case weight_format::f16:
        return out_.values.push_back(put_half(value));
      default:
        put(float_to_bf16(value));
        return out_.values.push_back(bf16_to_float(float_to_bf16(value)));
    }
  }

  void add_block() {
    const bool minimum = out_.format == weight_format::q4_1 || out_.format == weight_format::q5_1;
    const bool fifth = out_.format == weight_format::q5_0 || out_.format == weight_format::q5_1;
    const bool eight = out_.format == weight_format::q8_0;
    const float scale = put_half(draw(0.01F));
    const float offset = minimum ? put_half(draw(0.05F)) : 0.0F;
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
  source_rows out_;
};

inline source_rows random_rows(weight_format format, std::int64_t rows, std::int64_t inputs, std::uint32_t seed) {
  return row_writer(format, rows, inputs, seed).write();
}

}  // namespace cogen::kernels
