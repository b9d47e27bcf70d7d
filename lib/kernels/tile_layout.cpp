#include "kernels/tile_layout.hpp"

#include "kernels/convert.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace cogen::kernels {
namespace {

constexpr int group = quantized_group;
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

// Of 32 inputs: byte b of word i is the value of input 4 i + b.
using group_values = std::array<std::uint32_t, group / 4>;

constexpr std::uint32_t in_each_byte(std::uint32_t value) { return value * 0x01010101U; }

// One block of 32 weights: weight = (value - zero) * scale + minimum.
struct block {
  std::uint16_t scale = 0;
  std::uint16_t minimum = 0;
  group_values values{};
};

group_values nibbles_of(const std::byte* from) {
  group_values values;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto both = read<std::uint32_t>(from + 4 * i);
    values[i] = both & in_each_byte(15);
    values[i + 4] = both >> 4 & in_each_byte(15);
  }
  return values;
}

// Four bits, each as the lowest of a byte.
std::uint32_t spread(std::uint32_t bits) { return (bits & 15U) * 0x00204081U & in_each_byte(1); }

void add_fifth_bits(std::uint32_t bits, group_values& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] |= spread(bits >> 4 * i) << 4;
}

// Values of fewer bits move so that all 8-bit values have the same zero: no byte overflows.
void raise(std::uint32_t by, group_values& to) {
  for (std::uint32_t& four : to) four += in_each_byte(by);
}

template <weight_format format>
block read_block(const std::byte* from) {
  block to;
  to.scale = read<std::uint16_t>(from);
  if constexpr (format == weight_format::q4_0) {
    to.values = nibbles_of(from + 2);
  } else if constexpr (format == weight_format::q4_1) {
    to.minimum = read<std::uint16_t>(from + 2);
    to.values = nibbles_of(from + 4);
  } else if constexpr (format == weight_format::q5_0) {
    to.values = nibbles_of(from + 6);
    add_fifth_bits(read<std::uint32_t>(from + 2), to.values);
    raise(bias - 16, to.values);
  } else if constexpr (format == weight_format::q5_1) {
    to.minimum = read<std::uint16_t>(from + 2);
    to.values = nibbles_of(from + 8);
    add_fifth_bits(read<std::uint32_t>(from + 4), to.values);
    raise(bias, to.values);
  } else {
    static_assert(format == weight_format::q8_0);
    to.values = read<group_values>(from + 2);
    for (std::uint32_t& four : to.values) four ^= in_each_byte(bias);
  }
  return to;
}

void write_values(weight_storage storage, const group_values& from, int lane, std::byte* to) {
  std::byte* values = to + header_bytes(storage) + 4 * lane;
  if (is_four_bit(storage)) {
    for (std::size_t i = 0; i < from.size(); i += 2) write(values + i / 2 * 4 * tile_lanes, from[i] | from[i + 1] << 4);
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) write(values + i * 4 * tile_lanes, from[i]);
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
  group_values values{};
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
group_values one_nibble_each(const std::byte* from, bool high) {
  auto values = read<group_values>(from);
  for (std::uint32_t& four : values) four = four >> (high ? 4 : 0) & in_each_byte(15);
  return values;
}

// To each value the bits of `mask` in one of so many bytes.
void add_high_bits(const std::byte* from, int shift, std::uint32_t mask, group_values& to) {
  const auto bits = read<group_values>(from);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] |= (bits[i] >> shift & in_each_byte(mask)) << 4;
}

void read_scale_and_minimum(const std::byte* from, int g, wide_block& to) {
  const float scale = f16_to_float(read<std::uint16_t>(from));
  const float minimum = f16_to_float(read<std::uint16_t>(from + 2));
  to.scales.fill(scale * static_cast<float>(scale_at(from + 4, g)));
  to.minimum = -(minimum * static_cast<float>(minimum_at(from + 4, g)));
}

// Group g of a block of 256. Products of scales are exact in float32.
template <weight_format format>
wide_block read_wide_block(const std::byte* from, int g) {
  wide_block to;
  if constexpr (format == weight_format::q4_k) {
    read_scale_and_minimum(from, g, to);
    to.values = one_nibble_each(from + 16 + g / 2 * 32, g % 2 != 0);
  } else if constexpr (format == weight_format::q5_k) {
    read_scale_and_minimum(from, g, to);
    to.values = one_nibble_each(from + 48 + g / 2 * 32, g % 2 != 0);
    add_high_bits(from + 16, g, 1, to.values);
    raise(bias, to.values);
  } else {
    static_assert(format == weight_format::q6_k);
    const float scale = f16_to_float(read<std::uint16_t>(from + 208));
    for (std::size_t half = 0; half < 2; ++half)
      to.scales[half] =
          scale * static_cast<float>(static_cast<std::int8_t>(from[192 + 2 * g + static_cast<int>(half)]));
    to.values = one_nibble_each(from + g / 4 * 64 + g % 2 * 32, g % 4 >= 2);
    add_high_bits(from + 128 + g / 4 * 32, 2 * (g % 4), 3, to.values);
    raise(bias - 32, to.values);
  }
  return to;
}

void write_wide_block(weight_storage storage, const wide_block& from, int lane, std::byte* to) {
  write(to + 4 * lane, from.scales[0]);
  write(to + 4 * (tile_lanes + lane), has_minimum(storage) ? from.minimum : from.scales[1]);
  write_values(storage, from.values, lane, to);
}

// Block by block: what 64 rows have there lies side by side in a tile.
template <weight_format format>
void pack_blocks(const stored_rows& from, std::byte* tile) {
  const weight_storage storage = storage_of(format);
  const std::int64_t blocks = from.inputs / group;
  const std::int64_t block_bytes = row_bytes(format, group);
  for (std::int64_t at = 0; at < blocks; ++at, tile += group_bytes(storage))
    for (int lane = 0; lane < from.count; ++lane)
      write_block(storage, read_block<format>(from.data + (lane * blocks + at) * block_bytes), lane, tile);
}

template <weight_format format>
void pack_wide_blocks(const stored_rows& from, std::byte* tile) {
  constexpr int groups = 8;
  const weight_storage storage = storage_of(format);
  const std::int64_t blocks = from.inputs / (groups * group);
  const std::int64_t block_bytes = row_bytes(format, groups * group);
  for (std::int64_t at = 0; at < blocks; ++at, tile += groups * group_bytes(storage))
    for (int lane = 0; lane < from.count; ++lane)
      for (int g = 0; g < groups; ++g)
        write_wide_block(storage, read_wide_block<format>(from.data + (lane * blocks + at) * block_bytes, g), lane,
                         tile + g * group_bytes(storage));
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

void unpack_group(weight_storage storage, const std::byte* group_data, int lane, float* out) {
  const float scale = header_at(storage, group_data, 0, lane);
  const float second = storage == weight_storage::q8_halves ? header_at(storage, group_data, 1, lane) : scale;
  const float minimum = has_minimum(storage) ? header_at(storage, group_data, 1, lane) : 0.0F;
  for (int at = 0; at < group; ++at) {
    const float product =
        static_cast<float>(value_at(storage, group_data, at, lane)) * (at < group / 2 ? scale : second);
    out[at] = has_minimum(storage) ? product + minimum : product;
  }
}

void unpack_blocks(weight_storage storage, const std::byte* tile, std::int64_t inputs, int lane, float* out) {
  for (std::int64_t first = 0; first < inputs; first += group, tile += group_bytes(storage))
    unpack_group(storage, tile, lane, out + first);
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

// Words side by side: each word of a row that is whole, in the order of the row.
template <class Word>
void pack_words(const stored_rows& from, std::byte* tile) {
  constexpr std::int64_t size = sizeof(Word);
  constexpr std::int64_t step = 64 / size;  // a line of the processor's cache
  const std::int64_t bytes = row_bytes(from.format, from.inputs);
  for (std::int64_t first = 0; first < bytes / size; first += step)
    for (std::int64_t lane = 0; lane < from.count; ++lane)
      for (std::int64_t at = first; at < std::min(first + step, bytes / size); ++at)
        write(tile + (at * tile_lanes + lane) * size, read<Word>(from.data + lane * bytes + at * size));
}

void pack_bf16(const stored_rows& from, std::byte* tile) {
  pack_words<std::uint32_t>(from, tile);
  if (from.inputs % 2 == 0) return;
  for (int lane = 0; lane < from.count; ++lane)
    write(tile + number_at(weight_storage::bf16, from.inputs - 1, lane),
          read<std::uint16_t>(from.data + ((lane + 1) * from.inputs - 1) * 2));
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

void pack_tile(const stored_rows& from, std::byte* tile) {
  switch (from.format) {
    case weight_format::f32:
      return pack_words<std::uint32_t>(from, tile);
    case weight_format::f16:
      return pack_words<std::uint16_t>(from, tile);
    case weight_format::bf16:
      return pack_bf16(from, tile);
    case weight_format::q4_0:
      return pack_blocks<weight_format::q4_0>(from, tile);
    case weight_format::q4_1:
      return pack_blocks<weight_format::q4_1>(from, tile);
    case weight_format::q5_0:
      return pack_blocks<weight_format::q5_0>(from, tile);
    case weight_format::q5_1:
      return pack_blocks<weight_format::q5_1>(from, tile);
    case weight_format::q8_0:
      return pack_blocks<weight_format::q8_0>(from, tile);
    case weight_format::q4_k:
      return pack_wide_blocks<weight_format::q4_k>(from, tile);
    case weight_format::q5_k:
      return pack_wide_blocks<weight_format::q5_k>(from, tile);
    case weight_format::q6_k:
      return pack_wide_blocks<weight_format::q6_k>(from, tile);
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
