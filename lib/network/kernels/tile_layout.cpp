#include "network/kernels/tile_layout.hpp"

#include "network/kernels/convert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace cogen::kernels {
namespace {

constexpr int group = quantized_group;
constexpr int groups = quantized_block / quantized_group;

// What weight_storage says of a quantized one.
struct tile_form {
  int low_bits, high_bits, zero;
  bool minimum = false;
  int factors = 0;  // bytes of each lane in a group of a block
  int parts = 1;
  bool nonlinear = false;
  bool exponents = false;  // a byte as scale, and values of E2M1

  constexpr int bits() const { return low_bits + high_bits; }
  constexpr bool in_blocks() const { return factors > 0; }
  /// Scales and minima.
  constexpr std::int64_t header() const { return tile_lanes * (exponents ? 1 : minimum ? 4 : 2); }
  constexpr std::int64_t group_header() const { return in_blocks() ? tile_lanes * factors : header(); }
  constexpr std::int64_t group_bytes() const { return group_header() + tile_lanes * group * bits() / 8; }
  constexpr std::int64_t block_bytes() const { return (in_blocks() ? header() : 0) + groups * group_bytes(); }
};

constexpr tile_form form_of(weight_storage storage) {
  switch (storage) {
    case weight_storage::q4:
      return {4, 0, 8};
    case weight_storage::q4_min:
      return {4, 0, 0, true};
    case weight_storage::q5:
      return {4, 1, 16};
    case weight_storage::q5_min:
      return {4, 1, 0, true};
    case weight_storage::q4_nonlinear:
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .nonlinear = true};
    case weight_storage::mxfp4:
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .nonlinear = true, .exponents = true};
    case weight_storage::q2_k:
      return {2, 0, 0, true, 2, 2};
    case weight_storage::q3_k:
      return {2, 1, 4, false, 2, 2};
    case weight_storage::q4_k:
      return {4, 0, 0, true, 2};
    case weight_storage::q5_k:
      return {4, 1, 0, true, 2};
    case weight_storage::q6_k:
      return {4, 2, 32, false, 2, 2};
    case weight_storage::q4_nonlinear_k:
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .factors = 1, .nonlinear = true};
    default:
      return {8, 0, 128};
  }
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

// 32 weights: weight = (value - zero) * scale + minimum.
struct small_block {
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

template <weight_format format>
small_block read_block(const std::byte* from) {
  small_block to;
  to.scale = read<std::uint16_t>(from);
  if constexpr (format == weight_format::q4_0 || format == weight_format::iq4_nl) {
    to.values = nibbles_of(from + 2);
  } else if constexpr (format == weight_format::q4_1) {
    to.minimum = read<std::uint16_t>(from + 2);
    to.values = nibbles_of(from + 4);
  } else if constexpr (format == weight_format::q5_0) {
    to.values = nibbles_of(from + 6);
    add_fifth_bits(read<std::uint32_t>(from + 2), to.values);
  } else if constexpr (format == weight_format::q5_1) {
    to.minimum = read<std::uint16_t>(from + 2);
    to.values = nibbles_of(from + 8);
    add_fifth_bits(read<std::uint32_t>(from + 4), to.values);
  } else {
    static_assert(format == weight_format::q8_0);
    to.values = read<group_values>(from + 2);
    for (std::uint32_t& four : to.values) four ^= in_each_byte(128);
  }
  return to;
}

// Values are halves, so the exponent is one less.
template <>
small_block read_block<weight_format::mxfp4>(const std::byte* from) {
  return {.scale = static_cast<std::uint16_t>(std::max(static_cast<int>(*from) - 1, 0)),
          .values = nibbles_of(from + 1)};
}

// Of each value so many bits, from bit `From` on.
template <int Bits, int From>
void write_words(const group_values& from, std::byte* to) {
  constexpr std::size_t in_word = 8 / Bits;
  for (std::size_t word = 0; word < from.size() / in_word; ++word) {
    std::uint32_t packed = 0;
    for (std::size_t i = 0; i < in_word; ++i)
      packed |= (from[word * in_word + i] >> From & in_each_byte((1 << Bits) - 1)) << i * Bits;
    write(to + word * 4 * tile_lanes, packed);
  }
}

// `to` is the lane's first word.
template <tile_form Form>
void write_values(const group_values& from, std::byte* to) {
  write_words<Form.low_bits, 0>(from, to);
  if constexpr (Form.high_bits > 0)
    write_words<Form.high_bits, Form.low_bits>(from, to + Form.low_bits * 4 * tile_lanes);
}

// 32 of a block of 256: the bytes that its scale and minimum are multiplied by.
struct block_group {
  std::array<std::uint8_t, 2> factors{};
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

// Group g of a block of 256.
template <weight_format format>
block_group read_group(const std::byte* from, int g) {
  block_group to;
  const auto factors = [&](int first, int second) {
    to.factors = {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second)};
  };
  if constexpr (format == weight_format::q4_k) {
    factors(scale_at(from + 4, g), minimum_at(from + 4, g));
    to.values = one_nibble_each(from + 16 + g / 2 * 32, g % 2 != 0);
  } else if constexpr (format == weight_format::q5_k) {
    factors(scale_at(from + 4, g), minimum_at(from + 4, g));
    to.values = one_nibble_each(from + 48 + g / 2 * 32, g % 2 != 0);
    add_high_bits(from + 16, g, 1, to.values);
  } else if constexpr (format == weight_format::q2_k) {
    factors(byte_at(from, 2 * g), byte_at(from, 2 * g + 1));
    to.values = two_bits_each(from + 16, g);
  } else if constexpr (format == weight_format::q3_k) {
    factors(signed_scale_at(from + 96, 2 * g), signed_scale_at(from + 96, 2 * g + 1));
    to.values = two_bits_each(from + 32, g);
    add_high_bits(from, g, 1, to.values, 2);
  } else if constexpr (format == weight_format::iq4_xs) {
    factors(nonlinear_scale_at(from, g), 0);
    to.values = nibbles_of(from + 8 + 16 * g);
  } else {
    static_assert(format == weight_format::q6_k);
    factors(byte_at(from, 192 + 2 * g), byte_at(from, 192 + 2 * g + 1));
    to.values = one_nibble_each(from + g / 4 * 64 + g % 2 * 32, g % 4 >= 2);
    add_high_bits(from + 128 + g / 4 * 32, 2 * (g % 4), 3, to.values);
  }
  return to;
}

// Where a block of 256 has its scale, behind which lies its minimum.
constexpr std::int64_t scale_offset(weight_format format) {
  switch (format) {
    case weight_format::q2_k:
      return 80;
    case weight_format::q3_k:
      return 108;
    case weight_format::q6_k:
      return 208;
    default:
      return 0;
  }
}

template <tile_form Form>
void write_header(std::uint16_t scale, std::uint16_t minimum, int lane, std::byte* to) {
  if constexpr (Form.exponents)
    write(to + lane, static_cast<std::uint8_t>(scale));
  else
    write(to + 2 * lane, scale);
  if constexpr (Form.minimum) write(to + 2 * (tile_lanes + lane), minimum);
}

template <tile_form Form>
void write_group(const block_group& from, int lane, std::byte* to) {
  for (std::size_t factor = 0; factor < Form.factors; ++factor)
    write(to + factor * tile_lanes + static_cast<std::size_t>(lane), from.factors[factor]);
  write_values<Form>(from.values, to + Form.group_header() + 4 * lane);
}

// Block by block: what 64 rows have there lies side by side in a tile.
template <weight_format format>
void pack_small_blocks(const stored_rows& from, std::byte* tile) {
  constexpr tile_form form = form_of(storage_of(format));
  const std::int64_t blocks = from.inputs / group;
  const std::int64_t block_bytes = row_bytes(format, group);
  for (std::int64_t at = 0; at < blocks; ++at, tile += form.group_bytes())
    for (int lane = 0; lane < from.count; ++lane) {
      const auto read = read_block<format>(from.data + (lane * blocks + at) * block_bytes);
      write_header<form>(read.scale, read.minimum, lane, tile);
      write_values<form>(read.values, tile + form.group_header() + 4 * lane);
    }
}

template <weight_format format>
void pack_blocks(const stored_rows& from, std::byte* tile) {
  constexpr tile_form form = form_of(storage_of(format));
  constexpr std::uint16_t sign = 0x8000;
  const std::int64_t blocks = from.inputs / quantized_block;
  const std::int64_t block_bytes = row_bytes(format, quantized_block);
  for (std::int64_t at = 0; at < blocks; ++at, tile += form.block_bytes())
    for (int lane = 0; lane < from.count; ++lane) {
      const std::byte* block = from.data + (lane * blocks + at) * block_bytes;
      const std::byte* header = block + scale_offset(format);
      const auto minimum = form.minimum ? read<std::uint16_t>(header + 2) : std::uint16_t{0};
      write_header<form>(read<std::uint16_t>(header), minimum ^ sign, lane, tile);
      for (int g = 0; g < groups; ++g)
        write_group<form>(read_group<format>(block, g), lane, tile + form.header() + g * form.group_bytes());
    }
}

int value_at(const tile_form& form, const std::byte* values, int at, int lane) {
  // `bits` of each value, in words from `word` on.
  const auto field = [&](int bits, int word) {
    const int quad = at / 4;
    const auto byte = static_cast<int>(values[((word + quad * bits / 8) * tile_lanes + lane) * 4 + at % 4]);
    return byte >> quad * bits % 8 & ((1 << bits) - 1);
  };
  const int high = form.high_bits > 0 ? field(form.high_bits, form.low_bits) : 0;
  const int value = field(form.low_bits, 0) | high << form.low_bits;
  if (form.exponents) return e2m1_halves[value];
  return form.nonlinear ? nonlinear_values[value] : value - form.zero;
}

struct group_scale {
  float scale = 0;
  float minimum = 0;
};

group_scale header_at(const tile_form& form, const std::byte* header, int lane) {
  if (form.exponents) return {std::bit_cast<float>(static_cast<std::uint32_t>(header[lane]) << 23)};
  const auto number = [&](int field) {
    return f16_to_float(read<std::uint16_t>(header + 2 * (field * tile_lanes + lane)));
  };
  return {number(0), form.minimum ? number(1) : 0.0F};
}

// Of a part of a group in a block.
group_scale scaled(const tile_form& form, group_scale block, const std::byte* group_data, int part, int lane) {
  const auto factor = [&](int field) {
    return static_cast<int>(read<std::int8_t>(group_data + field * tile_lanes + lane));
  };
  if (form.minimum && form.parts == 2)
    return {block.scale * static_cast<float>(factor(part) & 15),
            block.minimum * static_cast<float>(factor(part) >> 4 & 15)};
  return {block.scale * static_cast<float>(factor(part)),
          form.minimum ? block.minimum * static_cast<float>(factor(1)) : 0.0F};
}

void unpack_group(const tile_form& form, group_scale scale, const std::byte* group_data, int lane, float* out) {
  for (int part = 0; part < form.parts; ++part) {
    const group_scale own = form.in_blocks() ? scaled(form, scale, group_data, part, lane) : scale;
    for (int at = part * group / form.parts; at < (part + 1) * group / form.parts; ++at) {
      const auto value = static_cast<float>(value_at(form, group_data + form.group_header(), at, lane));
      out[at] = form.minimum ? value * own.scale + own.minimum : value * own.scale;
    }
  }
}

void unpack_groups(const tile_form& form, const std::byte* tile, std::int64_t inputs, int lane, float* out) {
  group_scale scale;
  for (std::int64_t first = 0; first < inputs; first += group, tile += form.group_bytes()) {
    if (!form.in_blocks() || first % quantized_block == 0) scale = header_at(form, tile, lane);
    if (form.in_blocks() && first % quantized_block == 0) tile += form.header();
    unpack_group(form, scale, tile, lane, out + first);
  }
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

std::size_t tile_bytes(weight_storage storage, std::int64_t inputs) {
  switch (storage) {
    case weight_storage::f32:
      return static_cast<std::size_t>(inputs) * tile_lanes * 4;
    case weight_storage::f16:
      return static_cast<std::size_t>(inputs) * tile_lanes * 2;
    case weight_storage::bf16:
      return static_cast<std::size_t>((inputs + 1) / 2) * tile_lanes * 4;
    default: {
      const tile_form form = form_of(storage);
      const std::int64_t headers = form.in_blocks() ? inputs / quantized_block * form.header() : 0;
      return static_cast<std::size_t>(headers + inputs / group * form.group_bytes());
    }
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
      return pack_small_blocks<weight_format::q4_0>(from, tile);
    case weight_format::q4_1:
      return pack_small_blocks<weight_format::q4_1>(from, tile);
    case weight_format::q5_0:
      return pack_small_blocks<weight_format::q5_0>(from, tile);
    case weight_format::q5_1:
      return pack_small_blocks<weight_format::q5_1>(from, tile);
    case weight_format::q8_0:
      return pack_small_blocks<weight_format::q8_0>(from, tile);
    case weight_format::q4_k:
      return pack_blocks<weight_format::q4_k>(from, tile);
    case weight_format::q5_k:
      return pack_blocks<weight_format::q5_k>(from, tile);
    case weight_format::q6_k:
      return pack_blocks<weight_format::q6_k>(from, tile);
    case weight_format::iq4_nl:
      return pack_small_blocks<weight_format::iq4_nl>(from, tile);
    case weight_format::mxfp4:
      return pack_small_blocks<weight_format::mxfp4>(from, tile);
    case weight_format::q2_k:
      return pack_blocks<weight_format::q2_k>(from, tile);
    case weight_format::q3_k:
      return pack_blocks<weight_format::q3_k>(from, tile);
    case weight_format::iq4_xs:
      return pack_blocks<weight_format::iq4_xs>(from, tile);
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
      unpack_groups(form_of(storage), tile, inputs, lane, out);
  }
}

}  // namespace cogen::kernels
