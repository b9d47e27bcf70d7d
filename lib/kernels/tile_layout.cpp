#include "kernels/tile_layout.hpp"

#include "kernels/convert.hpp"

#include <array>
#include <cstring>

namespace cogen::kernels {
namespace {

constexpr int group = quantised_group;
constexpr int bias = 128;  // of 8-bit values

bool has_minimum(weight_storage storage) {
  return storage == weight_storage::q4_min || storage == weight_storage::q8_min;
}

bool is_four_bit(weight_storage storage) { return storage == weight_storage::q4 || storage == weight_storage::q4_min; }

std::int64_t header_bytes(weight_storage storage) { return tile_lanes * (has_minimum(storage) ? 4 : 2); }

std::int64_t group_bytes(weight_storage storage) {
  return header_bytes(storage) + tile_lanes * (is_four_bit(storage) ? group / 2 : group);
}

// Where input `at` of a group lies: its byte within the group's values, and for 4 bits its place in that byte.
std::int64_t byte_of(weight_storage storage, int at, int lane) {
  const int per_lane = is_four_bit(storage) ? 8 : 4;
  return (at / per_lane * tile_lanes + lane) * 4 + at % 4;
}

int shift_of(int at) { return at % 8 < 4 ? 0 : 4; }

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// One block of 32 weights: weight = (value - zero) * scale + minimum.
struct block {
  std::uint16_t scale = 0;
  std::uint16_t minimum = 0;
  std::array<std::uint8_t, group> values{};
};

void read_nibbles(const std::byte* from, block& to) {
  for (std::size_t i = 0; i < group / 2; ++i) {
    const auto both = static_cast<unsigned>(from[i]);
    to.values[i] = static_cast<std::uint8_t>(both & 15U);
    to.values[i + group / 2] = static_cast<std::uint8_t>(both >> 4);
  }
}

void add_fifth_bits(std::uint32_t bits, block& to) {
  for (std::size_t i = 0; i < group; ++i) to.values[i] |= static_cast<std::uint8_t>(((bits >> i) & 1U) << 4);
}

// 5-bit values move so that all 8-bit values have the same zero.
void raise(int by, block& to) {
  for (std::uint8_t& value : to.values) value = static_cast<std::uint8_t>(value + by);
}

block read_block(weight_format format, const std::byte* from) {
  block to;
  to.scale = read<std::uint16_t>(from);
  switch (format) {
    case weight_format::q4_0:
      read_nibbles(from + 2, to);
      break;
    case weight_format::q4_1:
      to.minimum = read<std::uint16_t>(from + 2);
      read_nibbles(from + 4, to);
      break;
    case weight_format::q5_0:
      read_nibbles(from + 6, to);
      add_fifth_bits(read<std::uint32_t>(from + 2), to);
      raise(bias - 16, to);
      break;
    case weight_format::q5_1:
      to.minimum = read<std::uint16_t>(from + 2);
      read_nibbles(from + 8, to);
      add_fifth_bits(read<std::uint32_t>(from + 4), to);
      raise(bias, to);
      break;
    default:  // q8_0
      std::memcpy(to.values.data(), from + 2, group);
      raise(bias, to);
  }
  return to;
}

void write_block(weight_storage storage, const block& from, int lane, std::byte* to) {
  write(to + 2 * lane, from.scale);
  if (has_minimum(storage)) write(to + 2 * (tile_lanes + lane), from.minimum);
  std::byte* values = to + header_bytes(storage);
  for (int at = 0; at < group; ++at) {
    const std::byte value{from.values[static_cast<std::size_t>(at)]};
    std::byte& place = values[byte_of(storage, at, lane)];
    place = is_four_bit(storage) ? place | value << shift_of(at) : value;
  }
}

void pack_blocks(weight_format format, const std::byte* row, std::int64_t inputs, int lane, std::byte* tile) {
  const weight_storage storage = storage_of(format);
  const std::int64_t block_bytes = row_bytes(format, group);
  for (std::int64_t at = 0; at < inputs; at += group, row += block_bytes, tile += group_bytes(storage))
    write_block(storage, read_block(format, row), lane, tile);
}

float unpacked(weight_storage storage, const std::byte* group_data, int at, int lane) {
  const float scale = f16_to_float(read<std::uint16_t>(group_data + 2 * lane));
  const auto raw = static_cast<int>(group_data[header_bytes(storage) + byte_of(storage, at, lane)]);
  switch (storage) {
    case weight_storage::q4:
      return static_cast<float>(((raw >> shift_of(at)) & 15) - 8) * scale;
    case weight_storage::q8:
      return static_cast<float>(raw - bias) * scale;
    default:
      break;
  }
  const float minimum = f16_to_float(read<std::uint16_t>(group_data + 2 * (tile_lanes + lane)));
  const int value = storage == weight_storage::q4_min ? (raw >> shift_of(at)) & 15 : raw - bias;
  const float product = static_cast<float>(value) * scale;
  return product + minimum;
}

void unpack_blocks(weight_storage storage, const std::byte* tile, std::int64_t inputs, int lane, float* out) {
  for (std::int64_t first = 0; first < inputs; first += group, tile += group_bytes(storage))
    for (int at = 0; at < group; ++at) out[first + at] = unpacked(storage, tile, at, lane);
}

// Where a plain number lies.
std::int64_t number_at(weight_storage storage, std::int64_t input, int lane) {
  switch (storage) {
    case weight_storage::f32:
      return (input * tile_lanes + lane) * 4;
    case weight_storage::f16:
      return (input * tile_lanes + lane) * 2;
    default:
      return (input / 2 * tile_lanes + lane) * 4 + input % 2 * 2;
  }
}

}  // namespace

weight_storage storage_of(weight_format format) {
  switch (format) {
    case weight_format::f32:
      return weight_storage::f32;
    case weight_format::f16:
      return weight_storage::f16;
    case weight_format::bf16:
      return weight_storage::bf16;
    case weight_format::q4_0:
      return weight_storage::q4;
    case weight_format::q4_1:
      return weight_storage::q4_min;
    case weight_format::q5_0:
    case weight_format::q8_0:
      return weight_storage::q8;
    case weight_format::q5_1:
      return weight_storage::q8_min;
  }
  return weight_storage::f32;
}

std::size_t tile_bytes(weight_storage storage, std::int64_t inputs) {
  switch (storage) {
    case weight_storage::f32:
      return static_cast<std::size_t>(inputs) * tile_lanes * 4;
    case weight_storage::f16:
      return static_cast<std::size_t>(inputs) * tile_lanes * 2;
    case weight_storage::bf16:
      return static_cast<std::size_t>((inputs + 1) / 2) * tile_lanes * 4;
    default:
      return static_cast<std::size_t>(inputs / group * group_bytes(storage));
  }
}

void pack_row(weight_format format, const std::byte* row, std::int64_t inputs, int lane, std::byte* tile) {
  const weight_storage storage = storage_of(format);
  switch (format) {
    case weight_format::f32:
      for (std::int64_t input = 0; input < inputs; ++input)
        write(tile + number_at(storage, input, lane), read<std::uint32_t>(row + 4 * input));
      break;
    case weight_format::f16:
    case weight_format::bf16:
      for (std::int64_t input = 0; input < inputs; ++input)
        write(tile + number_at(storage, input, lane), read<std::uint16_t>(row + 2 * input));
      break;
    default:
      pack_blocks(format, row, inputs, lane, tile);
  }
}

void unpack_row(weight_storage storage, const std::byte* tile, std::int64_t inputs, int lane, float* out) {
  switch (storage) {
    case weight_storage::f32:
      for (std::int64_t input = 0; input < inputs; ++input)
        out[input] = read<float>(tile + number_at(storage, input, lane));
      break;
    case weight_storage::f16:
      for (std::int64_t input = 0; input < inputs; ++input)
        out[input] = f16_to_float(read<std::uint16_t>(tile + number_at(storage, input, lane)));
      break;
    case weight_storage::bf16:
      for (std::int64_t input = 0; input < inputs; ++input)
        out[input] = bf16_to_float(read<std::uint16_t>(tile + number_at(storage, input, lane)));
      break;
    default:
      unpack_blocks(storage, tile, inputs, lane, out);
  }
}

}  // namespace cogen::kernels
