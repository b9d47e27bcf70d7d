#pragma once

#include "network/kernels/tile_layout.hpp"
#include "quantized_rows.hpp"

#include <cogen/detail/integer_block.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

namespace cogen::kernels {

/// Tiles written weight by weight, as `weight_storage` defines them: the specification of `pack_tile`.
class plain_tiles {
 public:
  explicit plain_tiles(const encoder_rows& source)
      : source_(source),
        storage_(storage_of(source.format)),
        tile_bytes_(static_cast<std::int64_t>(tile_bytes(storage_, source.inputs))),
        bytes_(static_cast<std::size_t>((source.rows + tile_lanes - 1) / tile_lanes * tile_bytes_)) {}

  std::vector<std::byte> write() {
    for (std::int64_t row = 0; row < source_.rows; ++row)
      for (std::int64_t input = 0; input < source_.inputs; ++input) write(row, input);
    return std::move(bytes_);
  }

 private:
  static constexpr int group = quantized_group;

  /// Of a weight: bits of its scale and minimum, the factors of its group in a block, and its value.
  struct kept {
    std::uint16_t scale = 0, minimum = 0;
    std::vector<int> factors = {};
    int value = 0;
  };

  void write(std::int64_t row, std::int64_t input) {
    switch (storage_) {
      case weight_storage::f32:
      case weight_storage::f16:
      case weight_storage::bf16:
        return write_number(row, input);
      case weight_storage::e4m3:
        return write_e4m3(row, input);
      case weight_storage::q4_zero:
      case weight_storage::q8_zero:
      case weight_storage::scaled_e2m1:
        return write_scaled(row, input);
      default:
        return write_quantized(row, input);
    }
  }

  // Of 128 inputs 64 scales, and a byte for each input.
  void write_e4m3(std::int64_t row, std::int64_t input) {
    const auto block = block_of<load::scaled_e4m3_block>(stored(row), input / 128);
    const std::int64_t lane = row % tile_lanes;
    std::byte* const target = tile_of(row) + input / 128 * (4 + 128) * tile_lanes;
    std::memcpy(target + 4 * lane, &block.scale, 4);
    target[(4 + input % 128) * tile_lanes + lane] = std::byte{block.codes[input % 128]};
  }

  // Of 32 inputs 64 scales, or twice as many, zeros where there are some, and values.
  void write_scaled(std::int64_t row, std::int64_t input) {
    const std::int64_t lane = row % tile_lanes, scales = storage_ == weight_storage::scaled_e2m1 ? 2 : 1;
    const int bits = storage_ == weight_storage::q8_zero ? 8 : 4;
    const std::int64_t header = tile_lanes * (4 * scales + (scales == 1 ? 1 : 0));
    std::byte* const target = tile_of(row) + input / group * (header + tile_lanes * group * bits / 8);
    const auto put = [&](float scale, std::int64_t index) {
      std::memcpy(target + 4 * (index * tile_lanes + lane), &scale, 4);
    };
    int value = 0;
    if (storage_ == weight_storage::scaled_e2m1) {
      const auto block = block_of<load::scaled_e2m1_block>(stored(row), input / group);
      put(block.scales[input % group / 16] / 2, input % group / 16);
      value = nibble(block.nibbles, input % group);
    } else if (storage_ == weight_storage::q4_zero) {
      const auto block = block_of<load::q4_zero_block>(stored(row), input / group);
      put(block.scale, 0);
      target[4 * tile_lanes + lane] = std::byte{block.zero};
      value = nibble(block.nibbles, input % group);
    } else {
      const auto block = block_of<load::q8_zero_block>(stored(row), input / group);
      put(block.scale, 0);
      target[4 * tile_lanes + lane] = std::byte{block.zero};
      value = block.codes[input % group];
    }
    write_bits(target + header + 4 * lane, input % group, value, bits);
  }

  bool has_minima() const {
    return storage_ == weight_storage::q4_min || storage_ == weight_storage::q5_min ||
           storage_ == weight_storage::q2_k || storage_ == weight_storage::q4_k || storage_ == weight_storage::q5_k;
  }
  int low_bits() const {
    if (storage_ == weight_storage::q2 || storage_ == weight_storage::q2_k || storage_ == weight_storage::q3_k)
      return 2;
    return storage_ == weight_storage::q8 ? 8 : 4;
  }
  int high_bits() const {
    if (storage_ == weight_storage::q6_k) return 2;
    return storage_ == weight_storage::q3_k || storage_ == weight_storage::q5_k || storage_ == weight_storage::q5 ||
                   storage_ == weight_storage::q5_min
               ? 1
               : 0;
  }

  const std::byte* stored(std::int64_t row) const {
    return source_.bytes.data() + row * row_bytes(source_.format, source_.inputs);
  }
  std::byte* tile_of(std::int64_t row) { return bytes_.data() + row / tile_lanes * tile_bytes_; }

  void write_number(std::int64_t row, std::int64_t input) {
    const std::int64_t lane = row % tile_lanes, size = storage_ == weight_storage::f32 ? 4 : 2;
    const bool in_pairs = storage_ == weight_storage::bf16;
    const std::int64_t index = in_pairs ? (input / 2 * tile_lanes + lane) * 2 + input % 2 : input * tile_lanes + lane;
    std::memcpy(tile_of(row) + index * size, stored(row) + input * size, static_cast<std::size_t>(size));
  }

  void write_quantized(std::int64_t row, std::int64_t input) {
    const kept entry = weight(stored(row), input);
    const auto factors = static_cast<std::int64_t>(entry.factors.size());
    const std::int64_t lane = row % tile_lanes, in_block = factors > 0 ? quantized_block : group;
    const bool halves = storage_ == weight_storage::nvfp4;
    const std::int64_t scale_bytes = storage_ == weight_storage::mxfp4 || halves ? 1 : 2;
    const std::int64_t header = scale_bytes * tile_lanes * (has_minima() || halves ? 2 : 1);
    const std::int64_t group_bytes = tile_lanes * (factors + (low_bits() + high_bits()) * group / 8);
    std::byte* const block = first_block(tile_of(row)) + input / in_block * (header + in_block / group * group_bytes);
    const std::int64_t offset = halves ? input % group / 16 * tile_lanes : 0;
    std::memcpy(block + offset + scale_bytes * lane, &entry.scale, static_cast<std::size_t>(scale_bytes));
    if (has_minima()) std::memcpy(block + 2 * (tile_lanes + lane), &entry.minimum, 2);
    std::byte* const target = block + header + input % in_block / group * group_bytes;
    for (std::int64_t index = 0; index < factors; ++index)
      target[index * tile_lanes + lane] = static_cast<std::byte>(entry.factors[static_cast<std::size_t>(index)]);
    std::byte* const words = target + factors * tile_lanes + 4 * lane;
    write_bits(words, input % group, entry.value & ((1 << low_bits()) - 1), low_bits());
    if (high_bits() > 0)
      write_bits(words + 4 * tile_lanes * low_bits(), input % group, entry.value >> low_bits(), high_bits());
  }

  /// Behind what the tile begins with.
  std::byte* first_block(std::byte* tile) const {
    const bool halves = storage_ == weight_storage::nvfp4;
    if (storage_ != weight_storage::q4_table_k && !halves) return tile;
    const auto& [values, unit] = table_of(source_.format);
    code_table_header header{.values = {}, .from_zero = {}, .unit = halves ? 1 : unit};
    for (std::size_t code = 0; code < 16; ++code) {
      header.values[code] = halves ? e2m1_halves[code] : values[code];
      header.from_zero[code] = static_cast<std::uint8_t>(header.values[code] + 64);
    }
    std::memcpy(tile, &header, 36);
    return tile + 64;
  }

  static void write_bits(std::byte* words, std::int64_t index, int value, int bits) {
    const std::int64_t per_word = 32 / bits;
    words[index / per_word * 4 * tile_lanes + index % 4] |= std::byte(value << index % per_word / 4 * bits);
  }

  kept weight(const std::byte* row, std::int64_t input) const {
    const auto index = static_cast<int>(input % quantized_block);
    switch (source_.format) {
      case element_type::q4_0: {
        const auto block = block_of<load::q4_0_block>(row, input / 32);
        return {block.scale, 0, {}, nibble(block.nibbles, input % 32)};
      }
      case element_type::q4_1: {
        const auto block = block_of<load::q4_1_block>(row, input / 32);
        return {block.scale, block.minimum, {}, nibble(block.nibbles, input % 32)};
      }
      case element_type::q5_0: {
        const auto block = block_of<load::q5_0_block>(row, input / 32);
        return {block.scale, 0, {}, five_bits(block, input % 32)};
      }
      case element_type::q5_1: {
        const auto block = block_of<load::q5_1_block>(row, input / 32);
        return {block.scale, block.minimum, {}, five_bits(block, input % 32)};
      }
      case element_type::q8_0: {
        const auto block = block_of<load::q8_0_block>(row, input / 32);
        return {block.scale, 0, {}, block.quants[input % 32] + 128};
      }
      case element_type::iq4_nl: {
        const auto block = block_of<load::iq4_nl_block>(row, input / 32);
        return {block.scale, 0, {}, nibble(block.nibbles, input % 32)};
      }
      case element_type::mxfp4: {
        const auto block = block_of<load::mxfp4_block>(row, input / 32);
        return {static_cast<std::uint16_t>(block.exponent - 1), 0, {}, nibble(block.nibbles, input % 32)};
      }
      case element_type::q4_k:
        return weight_with_minimum(block_of<load::q4_k_block>(row, input / 256), index);
      case element_type::q5_k:
        return weight_with_minimum(block_of<load::q5_k_block>(row, input / 256), index);
      case element_type::q2_k: {
        const auto block = block_of<load::q2_k_block>(row, input / 256);
        return {block.scale, negated(block.minimum), halves(block, index), block.value(index)};
      }
      case element_type::q3_k: {
        const auto block = block_of<load::q3_k_block>(row, input / 256);
        const int first = index / 32 * 2;
        return {block.scale, 0, {block.scale_of(first) - 32, block.scale_of(first + 1) - 32}, block.value(index)};
      }
      case element_type::iq4_xs: {
        const auto block = block_of<load::iq4_xs_block>(row, input / 256);
        return {block.scale, 0, {block.scale_of(index / 32) - 32}, block.value(index)};
      }
      case element_type::nvfp4: {
        const auto block = block_of<load::nvfp4_block>(row, input / 64);
        const auto scale = block.scales[input % 64 / 16];
        return {static_cast<std::uint16_t>(scale == 0x7F ? 0 : scale & 0x7F),
                0,
                {},
                block.value(static_cast<int>(input % 64))};
      }
      case element_type::iq1_s:
        return weight_of_integers<element_type::iq1_s>(row, input);
      case element_type::iq1_m:
        return weight_of_integers<element_type::iq1_m>(row, input);
      case element_type::iq2_xxs:
        return weight_of_integers<element_type::iq2_xxs>(row, input);
      case element_type::iq2_xs:
        return weight_of_integers<element_type::iq2_xs>(row, input);
      case element_type::iq2_s:
        return weight_of_integers<element_type::iq2_s>(row, input);
      case element_type::iq3_xxs:
        return weight_of_integers<element_type::iq3_xxs>(row, input);
      case element_type::iq3_s:
        return weight_of_integers<element_type::iq3_s>(row, input);
      case element_type::tq1_0:
        return weight_of_integers<element_type::tq1_0>(row, input);
      case element_type::tq2_0:
        return weight_of_integers<element_type::tq2_0>(row, input);
      case element_type::q1_0:
        return weight_of_integers<element_type::q1_0>(row, input);
      case element_type::q2_0:
        return weight_of_integers<element_type::q2_0>(row, input);
      default: {  // q6_k
        const auto block = block_of<load::q6_k_block>(row, input / 256);
        return {block.scale, 0, halves(block, index), block.value(index)};
      }
    }
  }

  template <class Block>
  static Block block_of(const std::byte* row, std::int64_t number) {
    Block block;
    std::memcpy(&block, row + number * std::int64_t{sizeof block}, sizeof block);
    return block;
  }

  template <element_type Type>
  static kept weight_of_integers(const std::byte* row, std::int64_t input) {
    constexpr auto elements = layout(Type).elements;
    const auto block = read_integer_block<Type>(row + input / elements * layout(Type).bytes);
    const auto index = input % elements, first = index / group * 2;
    const int code = block.codes[index];
    if (storage_of(Type) == weight_storage::q2) return {block.scale, 0, {}, code};
    return {block.scale, 0, {block.factors[first], block.factors[first + 1]}, code};
  }

  static int nibble(const std::uint8_t (&nibbles)[16], std::int64_t index) {
    return nibbles[index % 16] >> index / 16 * 4 & 15;
  }

  template <class Block>
  static int five_bits(const Block& block, std::int64_t index) {
    return nibble(block.nibbles, index) | (block.fifth_bits[index / 8] >> index % 8 & 1) << 4;
  }

  template <class Block>
  static std::vector<int> halves(const Block& block, int index) {
    return {block.scales[index / 32 * 2], block.scales[index / 32 * 2 + 1]};
  }

  template <class Block>
  static kept weight_with_minimum(const Block& block, int index) {
    return {
        block.scale,
        negated(block.minimum),
        {load::q4_k_block::scale_of(block.scales, index / 32), load::q4_k_block::minimum_of(block.scales, index / 32)},
        block.value(index)};
  }

  static std::uint16_t negated(std::uint16_t half) { return half ^ 0x8000U; }

  const encoder_rows& source_;
  weight_storage storage_;
  std::int64_t tile_bytes_;
  std::vector<std::byte> bytes_;
};

}  // namespace cogen::kernels
