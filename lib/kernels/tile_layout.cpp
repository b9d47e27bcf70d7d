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
         storage == weight_storage::q8_wide || storage == weight_storage::q2_halves;
}

// Groups of two halves with a scale (and minimum) each.
bool has_halves(weight_storage storage) {
  return storage == weight_storage::q8_halves || storage == weight_storage::q4_halves ||
         storage == weight_storage::q2_halves;
}

bool is_nonlinear(weight_storage storage) {
  return storage == weight_storage::q4_nonlinear || storage == weight_storage::q4_nonlinear_wide;
}

int bits_of(weight_storage storage) {
  switch (storage) {
    case weight_storage::q2_halves:
      return 2;
    case weight_storage::q4:
    case weight_storage::q4_min:
    case weight_storage::q4_wide:
    case weight_storage::q4_halves:
    case weight_storage::q4_nonlinear:
    case weight_storage::q4_nonlinear_wide:
      return 4;
    default:
      return 8;
  }
}

int parts_of(weight_storage storage) { return has_halves(storage) ? 2 : 1; }

std::int64_t header_bytes(weight_storage storage) {
  const int fields = parts_of(storage) * (has_minimum(storage) ? 2 : 1);
  return tile_lanes * fields * (has_wide_header(storage) ? 4 : 2);
}

std::int64_t group_bytes(weight_storage storage) {
  return header_bytes(storage) + tile_lanes * group * bits_of(storage) / 8;
}

// Where input `at` of a group lies: its byte within the group's values, and its place in that byte.
std::int64_t byte_of(weight_storage storage, int at, int lane) {
  const int per_lane = 32 / bits_of(storage);
  return (at / per_lane * tile_lanes + lane) * 4 + at % 4;
}

int shift_of(weight_storage storage, int at) {
  const int bits = bits_of(storage);
  return at % (32 / bits) / 4 * bits;
}

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
  if constexpr (format == weight_format::q4_0 || format == weight_format::iq4_nl) {
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

template <std::size_t Bits>
void write_words(const group_values& from, std::byte* to) {
  constexpr std::size_t in_word = 8 / Bits;
  for (std::size_t word = 0; word < from.size() / in_word; ++word) {
    std::uint32_t packed = 0;
    for (std::size_t i = 0; i < in_word; ++i) packed |= from[word * in_word + i] << i * Bits;
    write(to + word * 4 * tile_lanes, packed);
  }
}

void write_values(weight_storage storage, const group_values& from, int lane, std::byte* to) {
  std::byte* values = to + header_bytes(storage) + 4 * lane;
  switch (bits_of(storage)) {
    case 2:
      return write_words<2>(from, values);
    case 4:
      return write_words<4>(from, values);
    default:
      return write_words<8>(from, values);
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
  std::array<float, 2> minima{};
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

// To each value, above its low four bits or so many, the bits of `mask` in one of so many bytes.
void add_high_bits(const std::byte* from, int shift, std::uint32_t mask, group_values& to, int above = 4) {
  const auto bits = read<group_values>(from);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] |= (bits[i] >> shift & in_each_byte(mask)) << above;
}

void read_scale_and_minimum(const std::byte* from, int g, wide_block& to) {
  const float scale = f16_to_float(read<std::uint16_t>(from));
  const float minimum = f16_to_float(read<std::uint16_t>(from + 2));
  to.scales.fill(scale * static_cast<float>(scale_at(from + 4, g)));
  to.minima.fill(-(minimum * static_cast<float>(minimum_at(from + 4, g))));
}

// Of scales and minima of four bits.
void read_halves(const std::byte* from, int g, wide_block& to) {
  const float scale = f16_to_float(read<std::uint16_t>(from + 80));
  const float minimum = f16_to_float(read<std::uint16_t>(from + 82));
  for (std::size_t half = 0; half < 2; ++half) {
    const unsigned both = byte_at(from, 2 * g + static_cast<int>(half));
    to.scales[half] = scale * static_cast<float>(both & 15U);
    to.minima[half] = -(minimum * static_cast<float>(both >> 4));
  }
}

// Scale number `at` of the sixteen of q3_k, which lie in 12 bytes: four low bits of each in eight, then the high ones.
int signed_scale_at(const std::byte* from, int at) {
  const unsigned low = byte_at(from, at % 8) >> at / 8 * 4 & 15U;
  const unsigned high = byte_at(from, 8 + at % 4) >> at / 4 * 2 & 3U;
  return static_cast<int>(low | high << 4) - 32;
}

// Scale g of the eight of iq4_xs: four low bits of each in four bytes, before which two high ones lie in two.
int nonlinear_scale_at(const std::byte* from, int g) {
  const unsigned low = byte_at(from, 4 + g / 2) >> g % 2 * 4 & 15U;
  const unsigned high = static_cast<unsigned>(read<std::uint16_t>(from + 2)) >> 2 * g & 3U;
  return static_cast<int>(low | high << 4) - 32;
}

// The 32 of group g of 256 two-bit values.
group_values two_bits_each(const std::byte* from, int g) {
  auto values = read<group_values>(from + g / 4 * 32);
  for (std::uint32_t& four : values) four = four >> g % 4 * 2 & in_each_byte(3);
  return values;
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
  } else if constexpr (format == weight_format::q2_k) {
    read_halves(from, g, to);
    to.values = two_bits_each(from + 16, g);
  } else if constexpr (format == weight_format::q3_k) {
    const float scale = f16_to_float(read<std::uint16_t>(from + 108));
    for (std::size_t half = 0; half < 2; ++half)
      to.scales[half] = scale * static_cast<float>(signed_scale_at(from + 96, 2 * g + static_cast<int>(half)));
    to.values = two_bits_each(from + 32, g);
    add_high_bits(from, g, 1, to.values, 2);
    raise(8 - 4, to.values);
  } else if constexpr (format == weight_format::iq4_xs) {
    to.scales.fill(f16_to_float(read<std::uint16_t>(from)) * static_cast<float>(nonlinear_scale_at(from, g)));
    to.values = nibbles_of(from + 8 + 16 * g);
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
  const auto parts = static_cast<std::size_t>(parts_of(storage));
  for (std::size_t part = 0; part < parts; ++part) {
    write(to + 4 * (part * tile_lanes + static_cast<std::size_t>(lane)), from.scales[part]);
    if (has_minimum(storage))
      write(to + 4 * ((parts + part) * tile_lanes + static_cast<std::size_t>(lane)), from.minima[part]);
  }
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
  if (bits_of(storage) == 8) return raw - bias;
  const int value = (raw >> shift_of(storage, at)) & ((1 << bits_of(storage)) - 1);
  if (is_nonlinear(storage)) return nonlinear_values[value];
  return has_minimum(storage) ? value : value - 8;
}

void unpack_group(weight_storage storage, const std::byte* group_data, int lane, float* out) {
  const int parts = parts_of(storage);
  for (int part = 0; part < parts; ++part) {
    const float scale = header_at(storage, group_data, part, lane);
    const float minimum = has_minimum(storage) ? header_at(storage, group_data, parts + part, lane) : 0.0F;
    for (int at = part * group / parts; at < (part + 1) * group / parts; ++at) {
      const float product = static_cast<float>(value_at(storage, group_data, at, lane)) * scale;
      out[at] = has_minimum(storage) ? product + minimum : product;
    }
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
    case weight_format::iq4_nl:
      return weight_storage::q4_nonlinear;
    case weight_format::q2_k:
      return weight_storage::q2_halves;
    case weight_format::q3_k:
      return weight_storage::q4_halves;
    case weight_format::iq4_xs:
      return weight_storage::q4_nonlinear_wide;
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
    case weight_format::iq4_nl:
      return pack_blocks<weight_format::iq4_nl>(from, tile);
    case weight_format::q2_k:
      return pack_wide_blocks<weight_format::q2_k>(from, tile);
    case weight_format::q3_k:
      return pack_wide_blocks<weight_format::q3_k>(from, tile);
    case weight_format::iq4_xs:
      return pack_wide_blocks<weight_format::iq4_xs>(from, tile);
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
