#include "network/kernels/tile_layout.hpp"

#include "network/kernels/convert.hpp"

#include <cogen/detail/half.hpp>
#include <cogen/detail/integer_block.hpp>

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
  bool exponents = false;  // a byte as scale
  bool e2m1 = false;       // values are numbers of 4 bits
  bool e4m3 = false;       // a byte as scale of each part, of E4M3
  bool floats = false;     // scales in float32
  bool zeros = false;      // a byte each
  bool table = false;      // of values, before the blocks

  constexpr int bits() const { return low_bits + high_bits; }
  constexpr bool in_blocks() const { return factors > 0; }
  /// Before groups or blocks.
  constexpr std::int64_t tile_header() const { return table ? std::int64_t{sizeof(code_table_header)} : 0; }
  /// Scales and minima.
  constexpr std::int64_t header() const {
    if (floats) return tile_lanes * (4 * parts + (zeros ? 1 : 0));
    return tile_lanes * (exponents ? 1 : e4m3 ? parts : minimum ? 4 : 2);
  }
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
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .nonlinear = true, .exponents = true, .e2m1 = true};
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
    case weight_storage::q4_zero:
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .floats = true, .zeros = true};
    case weight_storage::q8_zero:
      return {.low_bits = 8, .high_bits = 0, .zero = 0, .floats = true, .zeros = true};
    case weight_storage::scaled_e2m1:
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .parts = 2, .nonlinear = true, .e2m1 = true, .floats = true};
    case weight_storage::q2:
      return {2, 0, 1};
    case weight_storage::nvfp4:
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .parts = 2, .nonlinear = true, .e4m3 = true, .table = true};
    case weight_storage::q4_table_k:
      return {.low_bits = 4, .high_bits = 0, .zero = 0, .factors = 2, .parts = 2, .nonlinear = true, .table = true};
    default:
      return {8, 0, 128};
  }
}

template <class T>
T read(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

template <class T>
void write(std::byte* target, T value) {
  std::memcpy(target, &value, sizeof value);
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

group_values nibbles_of(const std::byte* bytes) {
  group_values values;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto both = read<std::uint32_t>(bytes + 4 * i);
    values[i] = both & in_each_byte(15);
    values[i + 4] = both >> 4 & in_each_byte(15);
  }
  return values;
}

// Four bits, each as the lowest of a byte.
std::uint32_t spread(std::uint32_t bits) { return (bits & 15U) * 0x00204081U & in_each_byte(1); }

void add_fifth_bits(std::uint32_t bits, group_values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] |= spread(bits >> 4 * i) << 4;
}

template <element_type format>
small_block read_block(const std::byte* source) {
  small_block block;
  block.scale = read<std::uint16_t>(source);
  if constexpr (format == element_type::q4_0 || format == element_type::iq4_nl) {
    block.values = nibbles_of(source + 2);
  } else if constexpr (format == element_type::q4_1) {
    block.minimum = read<std::uint16_t>(source + 2);
    block.values = nibbles_of(source + 4);
  } else if constexpr (format == element_type::q5_0) {
    block.values = nibbles_of(source + 6);
    add_fifth_bits(read<std::uint32_t>(source + 2), block.values);
  } else if constexpr (format == element_type::q5_1) {
    block.minimum = read<std::uint16_t>(source + 2);
    block.values = nibbles_of(source + 8);
    add_fifth_bits(read<std::uint32_t>(source + 4), block.values);
  } else {
    static_assert(format == element_type::q8_0);
    block.values = read<group_values>(source + 2);
    for (std::uint32_t& four : block.values) four ^= in_each_byte(128);
  }
  return block;
}

// Values are halves, so the exponent is one less.
template <>
small_block read_block<element_type::mxfp4>(const std::byte* bytes) {
  return {.scale = static_cast<std::uint16_t>(std::max(static_cast<int>(*bytes) - 1, 0)),
          .values = nibbles_of(bytes + 1)};
}

// Of each value so many bits, from bit `From` on.
template <int Bits, int From>
void write_words(const group_values& values, std::byte* target) {
  constexpr std::size_t in_word = 8 / Bits;
  for (std::size_t word = 0; word < values.size() / in_word; ++word) {
    std::uint32_t packed = 0;
    for (std::size_t i = 0; i < in_word; ++i)
      packed |= (values[word * in_word + i] >> From & in_each_byte((1 << Bits) - 1)) << i * Bits;
    write(target + word * 4 * tile_lanes, packed);
  }
}

// `target` is the lane's first word.
template <tile_form Form>
void write_values(const group_values& values, std::byte* target) {
  write_words<Form.low_bits, 0>(values, target);
  if constexpr (Form.high_bits > 0)
    write_words<Form.high_bits, Form.low_bits>(values, target + Form.low_bits * 4 * tile_lanes);
}

// 32 of a block of 256: the bytes that its scale and minimum are multiplied by.
struct block_group {
  std::array<std::uint8_t, 2> factors{};
  group_values values{};
};

unsigned byte_at(const std::byte* bytes, int index) { return static_cast<unsigned>(bytes[index]); }

// Scale and minimum number g of the eight of 6 bits each that lie in 12 bytes.
unsigned scale_at(const std::byte* bytes, int g) {
  return g < 4 ? byte_at(bytes, g) & 63U : (byte_at(bytes, g + 4) & 15U) | (byte_at(bytes, g - 4) >> 6) << 4;
}
unsigned minimum_at(const std::byte* bytes, int g) {
  return g < 4 ? byte_at(bytes, g + 4) & 63U : byte_at(bytes, g + 4) >> 4 | (byte_at(bytes, g) >> 6) << 4;
}

// The 32 of them whose low four bits are the low or the high nibbles of so many bytes.
group_values one_nibble_each(const std::byte* bytes, bool high) {
  auto values = read<group_values>(bytes);
  for (std::uint32_t& four : values) four = four >> (high ? 4 : 0) & in_each_byte(15);
  return values;
}

// To each value, above its low four bits or so many, the bits of `mask` in one of so many bytes.
void add_high_bits(const std::byte* bytes, int shift, std::uint32_t mask, group_values& values, int above = 4) {
  const auto bits = read<group_values>(bytes);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] |= (bits[i] >> shift & in_each_byte(mask)) << above;
}

// Scale number `index` of the sixteen of q3_k, which lie in 12 bytes: four low bits of each in eight, then the high
// ones.
int signed_scale_at(const std::byte* bytes, int index) {
  const unsigned low = byte_at(bytes, index % 8) >> index / 8 * 4 & 15U;
  const unsigned high = byte_at(bytes, 8 + index % 4) >> index / 4 * 2 & 3U;
  return static_cast<int>(low | high << 4) - 32;
}

// Scale g of the eight of iq4_xs: four low bits of each in four bytes, before which two high ones lie in two.
int nonlinear_scale_at(const std::byte* bytes, int g) {
  const unsigned low = byte_at(bytes, 4 + g / 2) >> g % 2 * 4 & 15U;
  const unsigned high = static_cast<unsigned>(read<std::uint16_t>(bytes + 2)) >> 2 * g & 3U;
  return static_cast<int>(low | high << 4) - 32;
}

// The 32 of group g of 256 two-bit values.
group_values two_bits_each(const std::byte* bytes, int g) {
  auto values = read<group_values>(bytes + g / 4 * 32);
  for (std::uint32_t& four : values) four = four >> g % 4 * 2 & in_each_byte(3);
  return values;
}

// Group g of a block of 256.
template <element_type format>
block_group read_group(const std::byte* block, int g) {
  block_group result;
  const auto factors = [&](int first, int second) {
    result.factors = {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second)};
  };
  if constexpr (format == element_type::q4_k) {
    factors(scale_at(block + 4, g), minimum_at(block + 4, g));
    result.values = one_nibble_each(block + 16 + g / 2 * 32, g % 2 != 0);
  } else if constexpr (format == element_type::q5_k) {
    factors(scale_at(block + 4, g), minimum_at(block + 4, g));
    result.values = one_nibble_each(block + 48 + g / 2 * 32, g % 2 != 0);
    add_high_bits(block + 16, g, 1, result.values);
  } else if constexpr (format == element_type::q2_k) {
    factors(byte_at(block, 2 * g), byte_at(block, 2 * g + 1));
    result.values = two_bits_each(block + 16, g);
  } else if constexpr (format == element_type::q3_k) {
    factors(signed_scale_at(block + 96, 2 * g), signed_scale_at(block + 96, 2 * g + 1));
    result.values = two_bits_each(block + 32, g);
    add_high_bits(block, g, 1, result.values, 2);
  } else if constexpr (format == element_type::iq4_xs) {
    factors(nonlinear_scale_at(block, g), 0);
    result.values = nibbles_of(block + 8 + 16 * g);
  } else {
    static_assert(format == element_type::q6_k);
    factors(byte_at(block, 192 + 2 * g), byte_at(block, 192 + 2 * g + 1));
    result.values = one_nibble_each(block + g / 4 * 64 + g % 2 * 32, g % 4 >= 2);
    add_high_bits(block + 128 + g / 4 * 32, 2 * (g % 4), 3, result.values);
  }
  return result;
}

// Where a block of 256 has its scale, behind which lies its minimum.
constexpr std::int64_t scale_offset(element_type format) {
  switch (format) {
    case element_type::q2_k:
      return 80;
    case element_type::q3_k:
      return 108;
    case element_type::q6_k:
      return 208;
    default:
      return 0;
  }
}

template <tile_form Form>
void write_header(std::uint16_t scale, std::uint16_t minimum, int lane, std::byte* target) {
  if constexpr (Form.exponents)
    write(target + lane, static_cast<std::uint8_t>(scale));
  else
    write(target + 2 * lane, scale);
  if constexpr (Form.minimum) write(target + 2 * (tile_lanes + lane), minimum);
}

template <tile_form Form>
void write_group(const block_group& source, int lane, std::byte* target) {
  for (std::size_t factor = 0; factor < Form.factors; ++factor)
    write(target + factor * tile_lanes + static_cast<std::size_t>(lane), source.factors[factor]);
  write_values<Form>(source.values, target + Form.group_header() + 4 * lane);
}

// Block by block: what 64 rows have there lies side by side in a tile.
template <element_type format>
void pack_small_blocks(const stored_rows& rows, std::byte* tile) {
  constexpr tile_form form = form_of(storage_of(format));
  const std::int64_t blocks = rows.inputs / group;
  const std::int64_t block_bytes = row_bytes(format, group);
  for (std::int64_t index = 0; index < blocks; ++index, tile += form.group_bytes())
    for (int lane = 0; lane < rows.count; ++lane) {
      const auto read = read_block<format>(rows.data + (lane * blocks + index) * block_bytes);
      write_header<form>(read.scale, read.minimum, lane, tile);
      write_values<form>(read.values, tile + form.group_header() + 4 * lane);
    }
}

template <element_type format>
void pack_blocks(const stored_rows& rows, std::byte* tile) {
  constexpr tile_form form = form_of(storage_of(format));
  constexpr std::uint16_t sign = 0x8000;
  const std::int64_t blocks = rows.inputs / quantized_block;
  const std::int64_t block_bytes = row_bytes(format, quantized_block);
  for (std::int64_t index = 0; index < blocks; ++index, tile += form.block_bytes())
    for (int lane = 0; lane < rows.count; ++lane) {
      const std::byte* block = rows.data + (lane * blocks + index) * block_bytes;
      const std::byte* header = block + scale_offset(format);
      const auto minimum = form.minimum ? read<std::uint16_t>(header + 2) : std::uint16_t{0};
      write_header<form>(read<std::uint16_t>(header), minimum ^ sign, lane, tile);
      for (int g = 0; g < groups; ++g)
        write_group<form>(read_group<format>(block, g), lane, tile + form.header() + g * form.group_bytes());
    }
}

// Scales in float32 and zeros, as row_blocks lie in memory: in the order in which tiles have them.
template <element_type format>
void pack_scaled_blocks(const stored_rows& rows, std::byte* tile) {
  constexpr tile_form form = form_of(storage_of(format));
  const std::int64_t blocks = rows.inputs / group;
  const std::int64_t block_bytes = row_bytes(format, group);
  for (std::int64_t index = 0; index < blocks; ++index, tile += form.group_bytes())
    for (int lane = 0; lane < rows.count; ++lane) {
      const std::byte* source = rows.data + (lane * blocks + index) * block_bytes;
      for (int part = 0; part < form.parts; ++part, source += sizeof(float))
        write(tile + 4 * (part * tile_lanes + lane), read<float>(source) * (form.e2m1 ? 0.5F : 1.0F));
      if constexpr (form.zeros) tile[4 * form.parts * tile_lanes + lane] = *source++;
      const auto values = form.low_bits == 8 ? read<group_values>(source) : nibbles_of(source);
      write_values<form>(values, tile + form.group_header() + 4 * lane);
    }
}

code_table_header header_of(const code_table& table) {
  code_table_header header{.values = {}, .from_zero = {}, .unit = table.unit};
  for (int code = 0; code < 16; ++code) {
    header.values[code] = table.values[code];
    header.from_zero[code] = static_cast<std::uint8_t>(table.values[code] + code_table_zero);
  }
  return header;
}

// 16 elements of nvfp4: the first eight are low nibbles.
void add_nibbles(const std::byte* bytes, std::uint32_t* values) {
  for (std::size_t i = 0; i < 2; ++i) {
    const auto both = read<std::uint32_t>(bytes + 4 * i);
    values[i] = both & in_each_byte(15);
    values[i + 2] = both >> 4 & in_each_byte(15);
  }
}

// Blocks of 64 have four scales first; the code that is NaN elsewhere is 0 there.
void pack_nvfp4(const stored_rows& rows, std::byte* tile) {
  constexpr tile_form form = form_of(weight_storage::nvfp4);
  constexpr int in_block = 2, parts = form.parts;
  code_table table{.values = {}, .unit = rows.factor};
  std::ranges::copy(e2m1_halves, table.values);
  write(tile, header_of(table));
  tile += form.tile_header();
  const std::int64_t row = row_bytes(element_type::nvfp4, rows.inputs);
  const std::int64_t block_bytes = layout(element_type::nvfp4).bytes;
  for (std::int64_t index = 0; index < rows.inputs / group; ++index, tile += form.group_bytes())
    for (int lane = 0; lane < rows.count; ++lane) {
      const std::byte* block = rows.data + lane * row + index / in_block * block_bytes;
      group_values values;
      for (int part = 0; part < parts; ++part) {
        const auto quarter = index % in_block * parts + part;
        const auto scale = block[quarter];
        tile[part * tile_lanes + lane] = scale == std::byte{0x7F} ? std::byte{0} : scale & std::byte{0x7F};
        add_nibbles(block + 4 + 8 * quarter, values.data() + 4 * part);
      }
      write_values<form>(values, tile + form.group_header() + 4 * lane);
    }
}

constexpr std::int64_t e4m3_header = tile_lanes * 4;
constexpr std::int64_t e4m3_tile_block = e4m3_header + tile_lanes * e4m3_block;

void pack_e4m3(const stored_rows& rows, std::byte* tile) {
  const std::int64_t blocks = rows.inputs / e4m3_block;
  const std::int64_t block_bytes = row_bytes(rows.format, e4m3_block);
  for (std::int64_t index = 0; index < blocks; ++index, tile += e4m3_tile_block)
    for (int lane = 0; lane < rows.count; ++lane) {
      const std::byte* source = rows.data + (lane * blocks + index) * block_bytes;
      write(tile + 4 * lane, read<float>(source));
      for (int input = 0; input < e4m3_block; ++input)
        tile[e4m3_header + input * tile_lanes + lane] = source[4 + input];
    }
}

void unpack_e4m3(const std::byte* tile, std::int64_t inputs, int lane, float* out) {
  for (std::int64_t input = 0; input < inputs; ++input) {
    const std::byte* block = tile + input / e4m3_block * e4m3_tile_block;
    const std::byte code = block[e4m3_header + input % e4m3_block * tile_lanes + lane];
    out[input] = e4m3_to_f32(static_cast<std::uint8_t>(code)) * read<float>(block + 4 * lane);
  }
}

group_values values_of(const integer_block& block, int g) {
  group_values values;
  std::memcpy(values.data(), block.codes + g * group, group);
  return values;
}

// Blocks of 64 to 256, whose scale is that of each group.
template <element_type format>
void pack_scaled_integers(const stored_rows& rows, std::byte* tile) {
  constexpr tile_form form = form_of(storage_of(format));
  constexpr auto elements = layout(format).elements, bytes = layout(format).bytes;
  constexpr auto in_block = static_cast<int>(elements / group);
  const std::int64_t row = row_bytes(format, rows.inputs);
  const std::byte* source = rows.data;
  for (std::int64_t first = 0; first < rows.inputs;
       first += elements, source += bytes, tile += in_block * form.group_bytes())
    for (int lane = 0; lane < rows.count; ++lane) {
      const auto block = read_integer_block<format>(source + lane * row);
      for (int g = 0; g < in_block; ++g) {
        std::byte* target = tile + g * form.group_bytes();
        write_header<form>(block.scale, 0, lane, target);
        write_values<form>(values_of(block, g), target + form.group_header() + 4 * lane);
      }
    }
}

// Blocks of 256 whose values stand for the numbers of a table.
template <element_type format>
void pack_coded_blocks(const stored_rows& rows, std::byte* tile) {
  constexpr tile_form form = form_of(storage_of(format));
  static_assert(form.factors == quantized_group / integer_block::group);
  write(tile, header_of(table_of(format)));
  tile += form.tile_header();
  const std::int64_t row = row_bytes(format, rows.inputs);
  for (std::int64_t index = 0; index < rows.inputs / quantized_block; ++index, tile += form.block_bytes())
    for (int lane = 0; lane < rows.count; ++lane) {
      const auto block = read_integer_block<format>(rows.data + lane * row + index * layout(format).bytes);
      write_header<form>(block.scale, 0, lane, tile);
      for (int g = 0; g < groups; ++g) {
        const block_group read{{block.factors[2 * g], block.factors[2 * g + 1]}, values_of(block, g)};
        write_group<form>(read, lane, tile + form.header() + g * form.group_bytes());
      }
    }
}

// Of a value by its bits; those of a table are read from the tile's header.
int number_of(const tile_form& form, int value, const std::byte* tile) {
  if (form.table) return read<std::int8_t>(tile + value);
  if (form.e2m1) return e2m1_halves[value];
  return form.nonlinear ? iq4_values[value] : value - form.zero;
}

int value_at(const tile_form& form, const std::byte* values, int index, int lane) {
  // `bits` of each value, in words from `word` on.
  const auto field = [&](int bits, int word) {
    const int quad = index / 4;
    const auto byte = static_cast<int>(values[((word + quad * bits / 8) * tile_lanes + lane) * 4 + index % 4]);
    return byte >> quad * bits % 8 & ((1 << bits) - 1);
  };
  const int high = form.high_bits > 0 ? field(form.high_bits, form.low_bits) : 0;
  return field(form.low_bits, 0) | high << form.low_bits;
}

// Half of a scale of nvfp4, whose exponent is that of f16 less 8.
float half_e4m3(std::byte bits) {
  return 128 * f16_to_float(static_cast<std::uint16_t>(static_cast<unsigned>(bits) << 7));
}

// Scales and minima of one lane, and what its values stand for.
class lane_reader {
 public:
  lane_reader(weight_storage storage, const std::byte* tile, int lane)
      : form_(form_of(storage)), tile_(tile), data_(tile + form_.tile_header()), lane_(lane) {
    if (form_.table) unit_ = read<code_table_header>(tile).unit;
  }

  void read_groups(std::int64_t inputs, float* out) {
    for (std::int64_t first = 0; first < inputs; first += group, data_ += form_.group_bytes()) {
      if (!form_.in_blocks() || first % quantized_block == 0) read_header();
      if (form_.in_blocks() && first % quantized_block == 0) data_ += form_.header();
      read_group(out + first);
    }
  }

 private:
  struct scale_and_minimum {
    float scale = 0;
    float minimum = 0;
  };

  void read_header() {
    const auto number = [&](int field) {
      return f16_to_float(read<std::uint16_t>(data_ + 2 * (field * tile_lanes + lane_)));
    };
    if (form_.exponents)
      header_ = {std::bit_cast<float>(static_cast<std::uint32_t>(data_[lane_]) << 23)};
    else if (!form_.e4m3 && !form_.floats)
      header_ = {number(0), form_.minimum ? number(1) : 0.0F};
  }

  int factor(int field) const { return static_cast<int>(read<std::int8_t>(data_ + field * tile_lanes + lane_)); }

  scale_and_minimum of_part(int part) const {
    if (form_.floats) return {read<float>(data_ + 4 * (part * tile_lanes + lane_))};
    if (form_.e4m3) return {half_e4m3(data_[part * tile_lanes + lane_]) * unit_};
    if (!form_.in_blocks()) return header_;
    if (form_.minimum && form_.parts == 2)
      return {header_.scale * static_cast<float>(factor(part) & 15),
              header_.minimum * static_cast<float>(factor(part) >> 4 & 15)};
    return {header_.scale * unit_ * static_cast<float>(factor(part)),
            form_.minimum ? header_.minimum * static_cast<float>(factor(1)) : 0.0F};
  }

  void read_group(float* out) const {
    const int zero = form_.zeros ? static_cast<int>(data_[4 * form_.parts * tile_lanes + lane_]) : 0;
    for (int part = 0; part < form_.parts; ++part) {
      const auto [scale, minimum] = of_part(part);
      for (int index = part * group / form_.parts; index < (part + 1) * group / form_.parts; ++index) {
        const int bits = value_at(form_, data_ + form_.group_header(), index, lane_);
        const auto value = static_cast<float>(number_of(form_, bits, tile_) - zero);
        out[index] = form_.minimum ? value * scale + minimum : value * scale;
      }
    }
  }

  tile_form form_;
  const std::byte* tile_;
  const std::byte* data_;
  int lane_;
  float unit_ = 1;
  scale_and_minimum header_;
};

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
void pack_words(const stored_rows& rows, std::byte* tile) {
  constexpr std::int64_t size = sizeof(Word);
  constexpr std::int64_t step = 64 / size;  // a line of the processor's cache
  const std::int64_t bytes = row_bytes(rows.format, rows.inputs);
  for (std::int64_t first = 0; first < bytes / size; first += step)
    for (std::int64_t lane = 0; lane < rows.count; ++lane)
      for (std::int64_t word = first; word < std::min(first + step, bytes / size); ++word)
        write(tile + (word * tile_lanes + lane) * size, read<Word>(rows.data + lane * bytes + word * size));
}

void pack_bf16(const stored_rows& rows, std::byte* tile) {
  pack_words<std::uint32_t>(rows, tile);
  if (rows.inputs % 2 == 0) return;
  for (int lane = 0; lane < rows.count; ++lane)
    write(tile + number_at(weight_storage::bf16, rows.inputs - 1, lane),
          read<std::uint16_t>(rows.data + ((lane + 1) * rows.inputs - 1) * 2));
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
    case weight_storage::e4m3:
      return static_cast<std::size_t>(inputs / e4m3_block * e4m3_tile_block);
    default: {
      const tile_form form = form_of(storage);
      const std::int64_t headers = form.in_blocks() ? inputs / quantized_block * form.header() : 0;
      return static_cast<std::size_t>(form.tile_header() + headers + inputs / group * form.group_bytes());
    }
  }
}

void pack_tile(const stored_rows& rows, std::byte* tile) {
  switch (rows.format) {
    case element_type::f32:
      return pack_words<std::uint32_t>(rows, tile);
    case element_type::f16:
      return pack_words<std::uint16_t>(rows, tile);
    case element_type::bf16:
      return pack_bf16(rows, tile);
    case element_type::q4_0:
      return pack_small_blocks<element_type::q4_0>(rows, tile);
    case element_type::q4_1:
      return pack_small_blocks<element_type::q4_1>(rows, tile);
    case element_type::q5_0:
      return pack_small_blocks<element_type::q5_0>(rows, tile);
    case element_type::q5_1:
      return pack_small_blocks<element_type::q5_1>(rows, tile);
    case element_type::q8_0:
      return pack_small_blocks<element_type::q8_0>(rows, tile);
    case element_type::q4_k:
      return pack_blocks<element_type::q4_k>(rows, tile);
    case element_type::q5_k:
      return pack_blocks<element_type::q5_k>(rows, tile);
    case element_type::q6_k:
      return pack_blocks<element_type::q6_k>(rows, tile);
    case element_type::iq4_nl:
      return pack_small_blocks<element_type::iq4_nl>(rows, tile);
    case element_type::mxfp4:
      return pack_small_blocks<element_type::mxfp4>(rows, tile);
    case element_type::q2_k:
      return pack_blocks<element_type::q2_k>(rows, tile);
    case element_type::q3_k:
      return pack_blocks<element_type::q3_k>(rows, tile);
    case element_type::iq4_xs:
      return pack_blocks<element_type::iq4_xs>(rows, tile);
    case element_type::q4_zero:
      return pack_scaled_blocks<element_type::q4_zero>(rows, tile);
    case element_type::q8_zero:
      return pack_scaled_blocks<element_type::q8_zero>(rows, tile);
    case element_type::scaled_e4m3:
      return pack_e4m3(rows, tile);
    case element_type::scaled_e2m1:
      return pack_scaled_blocks<element_type::scaled_e2m1>(rows, tile);
    case element_type::tq1_0:
      return pack_scaled_integers<element_type::tq1_0>(rows, tile);
    case element_type::tq2_0:
      return pack_scaled_integers<element_type::tq2_0>(rows, tile);
    case element_type::q1_0:
      return pack_scaled_integers<element_type::q1_0>(rows, tile);
    case element_type::q2_0:
      return pack_scaled_integers<element_type::q2_0>(rows, tile);
    case element_type::iq1_s:
      return pack_coded_blocks<element_type::iq1_s>(rows, tile);
    case element_type::iq1_m:
      return pack_coded_blocks<element_type::iq1_m>(rows, tile);
    case element_type::iq2_xxs:
      return pack_coded_blocks<element_type::iq2_xxs>(rows, tile);
    case element_type::iq2_xs:
      return pack_coded_blocks<element_type::iq2_xs>(rows, tile);
    case element_type::iq2_s:
      return pack_coded_blocks<element_type::iq2_s>(rows, tile);
    case element_type::iq3_xxs:
      return pack_coded_blocks<element_type::iq3_xxs>(rows, tile);
    case element_type::iq3_s:
      return pack_coded_blocks<element_type::iq3_s>(rows, tile);
    case element_type::nvfp4:
      return pack_nvfp4(rows, tile);
    default:
      return;
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
    case weight_storage::e4m3:
      return unpack_e4m3(tile, inputs, lane, out);
    default:
      lane_reader(storage, tile, lane).read_groups(inputs, out);
  }
}

}  // namespace cogen::kernels
