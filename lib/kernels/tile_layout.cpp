#include "kernels/tile_layout.hpp"

#include "kernels/convert.hpp"

#include <array>
#include <cstring>

namespace cogen::kernels {
namespace {

constexpr int group = quantised_group;
constexpr int bias = 128;  // of 8-bit values

bool has_wide_header(weight_storage storage) { return storage >= weight_storage::q4_wide; }

bool has_minimum(weight_storage storage) {
  return storage == weight_storage::q4_min || storage == weight_storage::q8_min || storage == weight_storage::q4_wide ||
         storage == weight_storage::q8_wide;
}

bool is_four_bit(weight_storage storage) {
  return storage == weight_storage::q4 || storage == weight_storage::q4_min || storage == weight_storage::q4_wide;
}

std::int64_t header_bytes(weight_storage storage) {
  const int fields = has_minimum(storage) || storage == weight_storage::q8_halves ? 2 : 1;
  return tile_lanes * fields * (has_wide_header(storage) ? 4 : 2);
}

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

void write_values(weight_storage storage, const std::array<std::uint8_t, group>& from, int lane, std::byte* to) {
  std::byte* values = to + header_bytes(storage);
  for (int at = 0; at < group; ++at) {
    const std::byte value{from[static_cast<std::size_t>(at)]};
    std::byte& place = values[byte_of(storage, at, lane)];
    place = is_four_bit(storage) ? place | value << shift_of(at) : value;
  }
}

void write_block(weight_storage storage, const block& from, int lane, std::byte* to) {
  write(to + 2 * lane, from.scale);
  if (has_minimum(storage)) write(to + 2 * (tile_lanes + lane), from.minimum);
  write_values(storage, from.values, lane, to);
}

// 32 of a block of 256: weight = (value - zero) * scale + minimum, with a scale for each 16.
struct wide_block {
  std::array<float, 2> scales{};
  float minimum = 0.0F;
  std::array<std::uint8_t, group> values{};
};

unsigned byte_at(const std::byte* from, int at) { return static_cast<unsigned>(from[at]); }

// Scale and minimum number g of the eight of 6 bits each that lie in 12 bytes.
unsigned scale_at(const std::byte* from, int g) {
  return g < 4 ? byte_at(from, g) & 63U : (byte_at(from, g + 4) & 15U) | (byte_at(from, g - 4) >> 6) << 4;
}
unsigned minimum_at(const std::byte* from, int g) {
  return g < 4 ? byte_at(from, g + 4) & 63U : byte_at(from, g + 4) >> 4 | (byte_at(from, g) >> 6) << 4;
}

// The 32 of them whose low four bits are the low or the high nibbles of so many bytes.
void read_one_nibble_each(const std::byte* from, bool high, wide_block& to) {
  for (int i = 0; i < group; ++i)
    to.values[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(byte_at(from, i) >> (high ? 4 : 0) & 15U);
}

void add_high_bits(const std::byte* from, int shift, unsigned mask, int raise_by, wide_block& to) {
  for (int i = 0; i < group; ++i) {
    std::uint8_t& value = to.values[static_cast<std::size_t>(i)];
    value =
        static_cast<std::uint8_t>((value | (byte_at(from, i) >> shift & mask) << 4) + static_cast<unsigned>(raise_by));
  }
}

void read_scale_and_minimum(const std::byte* from, int g, wide_block& to) {
  const float scale = f16_to_float(read<std::uint16_t>(from));
  const float minimum = f16_to_float(read<std::uint16_t>(from + 2));
  to.scales.fill(scale * static_cast<float>(scale_at(from + 4, g)));
  to.minimum = -(minimum * static_cast<float>(minimum_at(from + 4, g)));
}

// Group g of a block of 256. Products of scales are exact in float32.
wide_block read_wide_block(weight_format format, const std::byte* from, int g) {
  wide_block to;
  switch (format) {
    case weight_format::q4_k:
      read_scale_and_minimum(from, g, to);
      read_one_nibble_each(from + 16 + g / 2 * 32, g % 2 != 0, to);
      break;
    case weight_format::q5_k:
      read_scale_and_minimum(from, g, to);
      read_one_nibble_each(from + 48 + g / 2 * 32, g % 2 != 0, to);
      add_high_bits(from + 16, g, 1, bias, to);
      break;
    default: {  // q6_k
      const float scale = f16_to_float(read<std::uint16_t>(from + 208));
      for (std::size_t half = 0; half < 2; ++half)
        to.scales[half] =
            scale * static_cast<float>(static_cast<std::int8_t>(from[192 + 2 * g + static_cast<int>(half)]));
      read_one_nibble_each(from + g / 4 * 64 + g % 2 * 32, g % 4 >= 2, to);
      add_high_bits(from + 128 + g / 4 * 32, 2 * (g % 4), 3, bias - 32, to);
    }
  }
  return to;
}

void write_wide_block(weight_storage storage, const wide_block& from, int lane, std::byte* to) {
  write(to + 4 * lane, from.scales[0]);
  write(to + 4 * (tile_lanes + lane), has_minimum(storage) ? from.minimum : from.scales[1]);
  write_values(storage, from.values, lane, to);
}

void pack_wide_blocks(weight_format format, const std::byte* row, std::int64_t inputs, int lane, std::byte* tile) {
  constexpr int groups = 8;
  const weight_storage storage = storage_of(format);
  const std::int64_t block_bytes = row_bytes(format, groups * group);
  for (std::int64_t at = 0; at < inputs; at += groups * group, row += block_bytes)
    for (int g = 0; g < groups; ++g, tile += group_bytes(storage))
      write_wide_block(storage, read_wide_block(format, row, g), lane, tile);
}

void pack_blocks(weight_format format, const std::byte* row, std::int64_t inputs, int lane, std::byte* tile) {
  const weight_storage storage = storage_of(format);
  const std::int64_t block_bytes = row_bytes(format, group);
  for (std::int64_t at = 0; at < inputs; at += group, row += block_bytes, tile += group_bytes(storage))
    write_block(storage, read_block(format, row), lane, tile);
}

// Field number `field` of a group's header: a scale, or a minimum.
float header_at(weight_storage storage, const std::byte* group_data, int field, int lane) {
  const int at = field * tile_lanes + lane;
  return has_wide_header(storage) ? read<float>(group_data + 4 * at)
                                  : f16_to_float(read<std::uint16_t>(group_data + 2 * at));
}

int value_at(weight_storage storage, const std::byte* group_data, int at, int lane) {
  const auto raw = static_cast<int>(group_data[header_bytes(storage) + byte_of(storage, at, lane)]);
  if (!is_four_bit(storage)) return raw - bias;
  const int nibble = (raw >> shift_of(at)) & 15;
  return storage == weight_storage::q4 ? nibble - 8 : nibble;
}

float unpacked(weight_storage storage, const std::byte* group_data, int at, int lane) {
  const int part = storage == weight_storage::q8_halves && at >= group / 2 ? 1 : 0;
  const float product =
      static_cast<float>(value_at(storage, group_data, at, lane)) * header_at(storage, group_data, part, lane);
  return has_minimum(storage) ? product + header_at(storage, group_data, 1, lane) : product;
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
    case weight_format::q4_k:
      return weight_storage::q4_wide;
    case weight_format::q5_k:
      return weight_storage::q8_wide;
    case weight_format::q6_k:
      return weight_storage::q8_halves;
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
    case weight_format::q4_k:
    case weight_format::q5_k:
    case weight_format::q6_k:
      pack_wide_blocks(format, row, inputs, lane, tile);
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
