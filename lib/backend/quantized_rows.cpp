#include "backend/quantized_rows.hpp"

#include <ATen/ops/empty.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cogen::device {

namespace {

constexpr float middle = 8;

/// Where the scales and zeros of a matrix go.
class group_scales {
 public:
  group_scales(std::int64_t rows, std::int64_t columns)
      : all(at::empty({columns / quantized_group, rows, 2}, at::kFloat)),
        to_(all.mutable_data_ptr<float>()),
        rows_(rows) {}

  void set(std::int64_t row, std::int64_t group, float scale, float zero) const {
    float* const at = to_ + (group * rows_ + row) * 2;
    at[0] = scale, at[1] = zero;
  }

  const at::Tensor all;

 private:
  float* const to_;
  const std::int64_t rows_;
};

void check_groups(std::int64_t columns) {
  if (columns % quantized_group != 0)
    throw std::invalid_argument("rows of " + std::to_string(columns) +
                                " numbers cannot be quantized in 4 bits; a multiple of " +
                                std::to_string(quantized_group) + " is needed");
}

float half(std::uint16_t bits) { return static_cast<float>(c10::Half(bits, c10::Half::from_bits())); }

/// The scale and zero of a block as files have them: nibble n is n * scale + minimum.
struct stored_scale {
  float scale;
  float minimum;
};
stored_scale scale_of(const load::q4_0_block& block) { return {half(block.scale), -middle * half(block.scale)}; }
stored_scale scale_of(const load::q4_1_block& block) { return {half(block.scale), half(block.minimum)}; }

template <class Block>
quantized_rows unquantized_blocks(std::span<const std::byte> stored, std::int64_t rows, std::int64_t columns) {
  const group_scales scales(rows, columns);
  auto codes = at::empty({rows, columns}, at::kByte);
  auto* to = codes.mutable_data_ptr<std::uint8_t>();
  const std::byte* from = stored.data();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t group = 0; group < columns / quantized_group;
         ++group, from += sizeof(Block), to += quantized_group) {
      Block block;
      std::memcpy(&block, from, sizeof block);
      const auto [scale, minimum] = scale_of(block);
      scales.set(row, group, scale, minimum + middle * scale);
      for (int i = 0; i < quantized_group / 2; ++i) {
        to[i] = block.nibbles[i] & 15;
        to[i + quantized_group / 2] = block.nibbles[i] >> 4;
      }
    }
  return {codes, scales.all};
}

}  // namespace

quantized_rows quantize_in_8_bits(const at::Tensor& numbers) {
  constexpr float largest_code = 127;
  const auto rows = numbers.size(0), columns = numbers.size(1);
  quantized_rows quantized{at::empty({rows, columns}, at::kChar), at::empty({rows}, at::kFloat)};
  const float* from = numbers.const_data_ptr<float>();
  auto* to = quantized.codes.mutable_data_ptr<std::int8_t>();
  for (std::int64_t row = 0; row < rows; ++row, from += columns, to += columns) {
    float largest = 0;
    for (std::int64_t i = 0; i < columns; ++i) largest = std::max(largest, std::abs(from[i]));
    const float scale = largest / largest_code;
    quantized.scales.mutable_data_ptr<float>()[row] = scale;
    for (std::int64_t i = 0; i < columns; ++i)
      to[i] = static_cast<std::int8_t>(scale > 0 ? std::lround(from[i] / scale) : 0);
  }
  return quantized;
}

quantized_rows quantize_in_4_bits(const at::Tensor& numbers) {
  constexpr float largest_code = 15;
  const auto rows = numbers.size(0), columns = numbers.size(1);
  check_groups(columns);
  const group_scales scales(rows, columns);
  auto codes = at::empty({rows, columns}, at::kByte);
  const float* from = numbers.const_data_ptr<float>();
  auto* to = codes.mutable_data_ptr<std::uint8_t>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t group = 0; group < columns / quantized_group;
         ++group, from += quantized_group, to += quantized_group) {
      const auto [least, most] = std::minmax_element(from, from + quantized_group);
      const float minimum = *least, scale = (*most - minimum) / largest_code;
      scales.set(row, group, scale, minimum + middle * scale);
      for (int i = 0; i < quantized_group; ++i)
        to[i] = static_cast<std::uint8_t>(scale > 0 ? std::lround((from[i] - minimum) / scale) : 0);
    }
  return {codes, scales.all};
}

quantized_rows stored_4_bits(load::element_type type, std::span<const std::byte> stored, std::int64_t rows,
                             std::int64_t columns) {
  check_groups(columns);
  return type == load::element_type::q4_0 ? unquantized_blocks<load::q4_0_block>(stored, rows, columns)
                                          : unquantized_blocks<load::q4_1_block>(stored, rows, columns);
}

}  // namespace cogen::device
