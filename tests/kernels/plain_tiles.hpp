#pragma once

#include "kernels/tile_layout.hpp"
#include "quantized_rows.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace cogen::kernels {

/// Tiles written weight by weight, as `weight_storage` defines them: the specification of `pack_tile`.
class plain_tiles {
 public:
  explicit plain_tiles(const encoder_rows& from)
      : from_(from),
        storage_(storage_of(from.format)),
        tile_bytes_(static_cast<std::int64_t>(tile_bytes(storage_, from.inputs))),
        bytes_(static_cast<std::size_t>((from.rows + tile_lanes - 1) / tile_lanes * tile_bytes_)) {}

  std::vector<std::byte> write() {
    for (std::int64_t row = 0; row < from_.rows; ++row)
      for (std::int64_t input = 0; input < from_.inputs; ++input)
        is_quantized(from_.format) ? write_quantized(row, input) : write_number(row, input);
    return std::move(bytes_);
  }

 private:
  static constexpr int group = quantized_group;

  bool is_wide() const { return storage_ >= weight_storage::q4_wide; }
  bool has_halves() const {
    return storage_ == weight_storage::q8_halves || storage_ == weight_storage::q4_halves ||
           storage_ == weight_storage::q2_halves;
  }
  bool has_minima() const {
    return storage_ == weight_storage::q4_min || storage_ == weight_storage::q8_min ||
           storage_ == weight_storage::q4_wide || storage_ == weight_storage::q8_wide ||
           storage_ == weight_storage::q2_halves;
  }
  int bits_of_value() const {
    if (storage_ == weight_storage::q2_halves) return 2;
    return storage_ == weight_storage::q8 || storage_ == weight_storage::q8_min ||
                   storage_ == weight_storage::q8_wide || storage_ == weight_storage::q8_halves
               ? 8
               : 4;
  }

  const std::byte* stored(std::int64_t row) const {
    return from_.bytes.data() + row * row_bytes(from_.format, from_.inputs);
  }
  std::byte* tile_of(std::int64_t row) { return bytes_.data() + row / tile_lanes * tile_bytes_; }

  void write_number(std::int64_t row, std::int64_t input) {
    const std::int64_t lane = row % tile_lanes, size = storage_ == weight_storage::f32 ? 4 : 2;
    const bool in_pairs = storage_ == weight_storage::bf16;
    const std::int64_t at = in_pairs ? (input / 2 * tile_lanes + lane) * 2 + input % 2 : input * tile_lanes + lane;
    std::memcpy(tile_of(row) + at * size, stored(row) + input * size, static_cast<std::size_t>(size));
  }

  /// What is kept of one weight beside its value, and that value.
  struct kept {
    std::uint32_t scale = 0, minimum = 0;  // bits of a float32 where headers are wide, else of a float16
    int value = 0;
  };

  void write_quantized(std::int64_t row, std::int64_t input) {
    const kept what = weight(stored(row), input);
    const std::int64_t lane = row % tile_lanes, at = input % group, number = is_wide() ? 4 : 2;
    const std::int64_t parts = has_halves() ? 2 : 1, bits = bits_of_value(), per_word = 32 / bits;
    const std::int64_t header = number * tile_lanes * parts * (has_minima() ? 2 : 1);
    const std::int64_t values = tile_lanes * group * bits / 8;
    std::byte* const to = tile_of(row) + input / group * (header + values);
    const std::int64_t half = has_halves() ? at / 16 : 0;
    std::memcpy(to + (half * tile_lanes + lane) * number, &what.scale, static_cast<std::size_t>(number));
    if (has_minima())
      std::memcpy(to + ((parts + half) * tile_lanes + lane) * number, &what.minimum, static_cast<std::size_t>(number));
    std::byte* const word = to + header + (at / per_word * tile_lanes + lane) * 4;
    word[at % 4] |= std::byte(what.value << at % per_word / 4 * bits);
  }

  kept weight(const std::byte* row, std::int64_t input) const {
    switch (from_.format) {
      case weight_format::q4_0: {
        const auto block = block_of<load::q4_0_block>(row, input / 32);
        return {block.scale, 0, nibble(block.nibbles, input % 32)};
      }
      case weight_format::q4_1: {
        const auto block = block_of<load::q4_1_block>(row, input / 32);
        return {block.scale, block.minimum, nibble(block.nibbles, input % 32)};
      }
      case weight_format::q5_0: {
        const auto block = block_of<load::q5_0_block>(row, input / 32);
        return {block.scale, 0, five_bits(block, input % 32) - 16 + 128};
      }
      case weight_format::q5_1: {
        const auto block = block_of<load::q5_1_block>(row, input / 32);
        return {block.scale, block.minimum, five_bits(block, input % 32) + 128};
      }
      case weight_format::q8_0: {
        const auto block = block_of<load::q8_0_block>(row, input / 32);
        return {block.scale, 0, block.quants[input % 32] + 128};
      }
      case weight_format::q4_k:
        return wide_weight(block_of<load::q4_k_block>(row, input / 256), static_cast<int>(input % 256), 0);
      case weight_format::q5_k:
        return wide_weight(block_of<load::q5_k_block>(row, input / 256), static_cast<int>(input % 256), 128);
      case weight_format::iq4_nl: {
        const auto block = block_of<load::iq4_nl_block>(row, input / 32);
        return {block.scale, 0, nibble(block.nibbles, input % 32)};
      }
      case weight_format::q2_k: {
        const auto block = block_of<load::q2_k_block>(row, input / 256);
        const int at = static_cast<int>(input % 256);
        return {bits(f16_to_float(block.scale) * static_cast<float>(block.scales[at / 16] & 15)),
                bits(-(f16_to_float(block.minimum) * static_cast<float>(block.scales[at / 16] >> 4))), block.value(at)};
      }
      case weight_format::q3_k: {
        const auto block = block_of<load::q3_k_block>(row, input / 256);
        const int at = static_cast<int>(input % 256);
        return {bits(f16_to_float(block.scale) * static_cast<float>(block.scale_of(at / 16) - 32)), 0,
                block.value(at) - 4 + 8};
      }
      case weight_format::iq4_xs: {
        const auto block = block_of<load::iq4_xs_block>(row, input / 256);
        const int at = static_cast<int>(input % 256);
        return {bits(f16_to_float(block.scale) * static_cast<float>(block.scale_of(at / 32) - 32)), 0, block.value(at)};
      }
      default: {  // q6_k
        const auto block = block_of<load::q6_k_block>(row, input / 256);
        const int at = static_cast<int>(input % 256);
        return {bits(f16_to_float(block.scale) * static_cast<float>(block.scales[at / 16])), 0,
                block.value(at) - 32 + 128};
      }
    }
  }

  template <class Block>
  static Block block_of(const std::byte* row, std::int64_t number) {
    Block block;
    std::memcpy(&block, row + number * std::int64_t{sizeof block}, sizeof block);
    return block;
  }

  static int nibble(const std::uint8_t (&nibbles)[16], std::int64_t at) { return nibbles[at % 16] >> at / 16 * 4 & 15; }

  template <class Block>
  static int five_bits(const Block& block, std::int64_t at) {
    return nibble(block.nibbles, at) | (block.fifth_bits[at / 8] >> at % 8 & 1) << 4;
  }

  template <class Block>
  static kept wide_weight(const Block& block, int at, int raised) {
    const auto scale = static_cast<float>(load::q4_k_block::scale_of(block.scales, at / 32));
    const auto minimum = static_cast<float>(load::q4_k_block::minimum_of(block.scales, at / 32));
    return {bits(f16_to_float(block.scale) * scale), bits(-(f16_to_float(block.minimum) * minimum)),
            block.value(at) + raised};
  }

  static std::uint32_t bits(float value) {
    std::uint32_t same;
    std::memcpy(&same, &value, sizeof same);
    return same;
  }

  const encoder_rows& from_;
  weight_storage storage_;
  std::int64_t tile_bytes_;
  std::vector<std::byte> bytes_;
};

}  // namespace cogen::kernels
