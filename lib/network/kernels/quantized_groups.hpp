#pragma once

#include "network/kernels/simd.hpp"
#include "network/kernels/weight_storage.hpp"

#include <cogen/detail/element_type.hpp>

#include <cstddef>
#include <cstdint>

// Quantized weights as tiles hold them (see weight_storage): a class for each storage, of which an object is one group
// of some lanes. It moves on along the inputs with advance().
namespace cogen::kernels {
namespace {

constexpr int quads_in_group = quantized_group / 4;
constexpr int groups_in_block = quantized_block / quantized_group;

/// Values of Low bits, and High more where words of 32 bits hold no whole number of them. A step is a word of each lane
/// with the low bits of some quads of inputs: of quad number Q of a step from bit Q * Low of each byte on. The high
/// ones follow one another likewise in the words behind those of all steps.
template <int Low, int High, int Zero>
struct packed_values {
  static constexpr int bits = Low + High;
  static constexpr int sum_bits = bits;  // of what quad() gives
  static constexpr int high_bits = High;
  static constexpr int zero = Zero;
  static constexpr bool nonlinear = false;
  static constexpr int quads_in_step = 8 / Low;

  struct words {
    simd::i low, high;
  };

  /// Of a tile, in which nothing says what they stand for.
  COGEN_INLINE explicit packed_values(const std::byte*) {}

  /// Where the first high bits of a step are.
  static constexpr int word_of_high(int step) { return Low + step * quads_in_step * High / 8; }
  static constexpr int shift_of_high(int step) { return step * quads_in_step * High % 8; }

  COGEN_INLINE static words load(const std::byte* lanes, int step) {
    words loaded{word(lanes, step), {}};
    if constexpr (High > 0) loaded.high = simd::shift_right(word(lanes, word_of_high(step)), shift_of_high(step));
    return loaded;
  }

  /// Four values of each lane, in bytes.
  template <int Quad>
  COGEN_INLINE static simd::i quad(const words& packed) {
    const simd::i low = field<Low, Quad * Low, 0>(packed.low);
    if constexpr (High == 0)
      return low;
    else
      return simd::or_bits(low, field<High, Quad * High, Low>(packed.high));
  }

  /// The same, with other bits above each value where number() does not see them.
  template <int Quad>
  COGEN_INLINE static simd::i loose_quad(const words& packed) {
    if constexpr (High == 0)
      return simd::template shift_right<Quad * Low>(packed.low);
    else
      return quad<Quad>(packed);
  }

  /// Value 0..3 of each lane as a number; of more than 5 bits, as byte_scale() and byte_offset() want it.
  template <int Input>
  COGEN_INLINE static simd::f number(simd::i quad) {
    if constexpr (bits > 5)
      return simd::template byte<Input>(quad);
    else
      return simd::template low_bits<bits, Input>(quad);
  }

 private:
  static simd::i word(const std::byte* lanes, int index) { return simd::load_bits(lanes + 4 * index * tile_lanes); }

  // Bits [From, From + Count) of each byte, moved to To.
  template <int Count, int From, int To>
  COGEN_INLINE static simd::i field(simd::i word) {
    constexpr int right = From > To ? From - To : 0, left = To > From ? To - From : 0;
    constexpr std::uint32_t mask = ((1U << Count) - 1U) << To;
    if constexpr (Count == 8) return word;
    const simd::i moved = simd::template shift_left<left>(simd::template shift_right<right>(word));
    return simd::and_bits(moved, simd::set_bits(static_cast<std::int32_t>(mask * 0x01010101U)));
  }
};

/// 4 bits that stand for the integers of a table: quad() adds Zero to these, so that they have Bits.
template <const std::int8_t (&Table)[16], int Bits, int Zero>
struct nonlinear_4_bits : packed_values<4, 0, Zero> {
  using plain = packed_values<4, 0, Zero>;
  using plain::plain;
  static constexpr bool nonlinear = true;
  static constexpr int sum_bits = Bits;

  template <int Quad>
  COGEN_INLINE static simd::i quad(const typename plain::words& packed) {
    return simd::looked_up(from_zero.values, plain::template quad<Quad>(packed));
  }
  template <int Input>
  COGEN_INLINE static simd::f number(simd::i quad) {
    return simd::template looked_up_number<Input>(Table, quad);
  }

 private:
  struct shifted_table {
    std::uint8_t values[16];
    constexpr shifted_table() : values() {
      for (int index = 0; index < 16; ++index) values[index] = static_cast<std::uint8_t>(Table[index] + Zero);
    }
  };
  static constexpr shifted_table from_zero{};
};

/// 4 bits that stand for the integers of their tile's table, which are of 7 bits: quad() adds 64 to these.
struct tabled_4_bits : packed_values<4, 0, code_table_zero> {
  using plain = packed_values<4, 0, code_table_zero>;
  static constexpr bool nonlinear = true;
  static constexpr int sum_bits = 7;

  COGEN_INLINE explicit tabled_4_bits(const std::byte* tile)
      : plain(tile), table(reinterpret_cast<const code_table_header*>(tile)) {}

  template <int Quad>
  COGEN_INLINE simd::i quad(const words& packed) const {
    return simd::looked_up(table->from_zero, plain::quad<Quad>(packed));
  }
  template <int Input>
  COGEN_INLINE simd::f number(simd::i quad) const {
    return simd::looked_up_number<Input>(table->values, quad);
  }

  const code_table_header* table;
};

/// A scale of 16 bits for each group, and a minimum where there is one.
template <bool Minimum>
class group_scales {
 public:
  static constexpr bool minimum = Minimum;
  static constexpr int parts = 1;
  static constexpr int block_header = 0;
  static constexpr int header = tile_lanes * 2 * (Minimum ? 2 : 1);

  COGEN_INLINE group_scales(const std::byte* tile, int lane, std::int64_t group, int values)
      : data(tile + group * (header + values)), lane(lane) {}

  COGEN_INLINE simd::f scale(int c, int) const { return simd::load_f16(data + 2 * (lane + c * simd::width)); }
  COGEN_INLINE simd::f least(int c, int) const {
    return simd::load_f16(data + 2 * (tile_lanes + lane + c * simd::width));
  }
  COGEN_INLINE void advance(int values) { data += header + values; }

  const std::byte* data;
  int lane;
};

/// A power of two for each group, of which a byte is the exponent.
class group_exponents {
 public:
  static constexpr bool minimum = false;
  static constexpr int parts = 1;
  static constexpr int block_header = 0;
  static constexpr int header = tile_lanes;

  COGEN_INLINE group_exponents(const std::byte* tile, int lane, std::int64_t group, int values)
      : data(tile + group * (header + values)), lane(lane) {}

  COGEN_INLINE simd::f scale(int c, int) const { return simd::powers_of_two(data + lane + c * simd::width); }
  COGEN_INLINE void advance(int values) { data += header + values; }

  const std::byte* data;
  int lane;
};

/// A scale of 32 bits for each group, and a zero of 8 bits, to which values are Bias above what they stand for.
template <int Bias>
class zero_scales {
 public:
  static constexpr bool minimum = true;
  static constexpr int parts = 1;
  static constexpr int block_header = 0;
  static constexpr int header = tile_lanes * 5;

  COGEN_INLINE zero_scales(const std::byte* tile, int lane, std::int64_t group, int values)
      : data(tile + group * (header + values)), lane(lane) {}

  COGEN_INLINE simd::f scale(int c, int) const {
    return simd::load(reinterpret_cast<const float*>(data) + lane + c * simd::width);
  }
  COGEN_INLINE simd::f least(int c, int part) const {
    const simd::f zero = simd::template codes<8>(data + 4 * tile_lanes + lane + c * simd::width, 0);
    return simd::mul(scale(c, part), simd::sub(simd::set(Bias), zero));
  }
  COGEN_INLINE void advance(int values) { data += header + values; }

  const std::byte* data;
  int lane;
};

/// A scale of 32 bits for each part of a group.
template <int Parts>
class float_scales {
 public:
  static constexpr bool minimum = false;
  static constexpr int parts = Parts;
  static constexpr int block_header = 0;
  static constexpr int header = tile_lanes * 4 * Parts;

  COGEN_INLINE float_scales(const std::byte* tile, int lane, std::int64_t group, int values)
      : data(tile + group * (header + values)), lane(lane) {}

  COGEN_INLINE simd::f scale(int c, int part) const {
    return simd::load(reinterpret_cast<const float*>(data) + part * tile_lanes + lane + c * simd::width);
  }
  COGEN_INLINE void advance(int values) { data += header + values; }

  const std::byte* data;
  int lane;
};

/// E4M3 numbers for the halves of each group, whose values are twice their numbers, behind a header with a factor for
/// all.
class half_scales {
 public:
  static constexpr bool minimum = false;
  static constexpr int parts = 2;
  static constexpr int block_header = 0;
  static constexpr int header = parts * tile_lanes;

  COGEN_INLINE half_scales(const std::byte* tile, int lane, std::int64_t group, int values)
      : data(tile + sizeof(code_table_header) + group * (header + values)),
        lane(lane),
        unit(&reinterpret_cast<const code_table_header*>(tile)->unit) {}

  COGEN_INLINE simd::f scale(int c, int part) const {
    return simd::mul(simd::half_e4m3(data + part * tile_lanes + lane + c * simd::width), simd::set(*unit));
  }
  COGEN_INLINE void advance(int values) { data += header + values; }

  const std::byte* data;
  int lane;
  const float* unit;
};

/// A scale of 16 bits for each block, and a minimum where there is one, times a number for each group or half of one:
/// bytes, or both in the nibbles of a byte.
template <bool Minimum, int Parts, bool Nibbles = false>
class block_scales {
 public:
  static constexpr bool minimum = Minimum;
  static constexpr int parts = Parts;
  static constexpr int block_header = tile_lanes * 2 * (Minimum ? 2 : 1);
  static constexpr int header = tile_lanes * Parts * (Minimum && !Nibbles ? 2 : 1);

  COGEN_INLINE block_scales(const std::byte* tile, int lane, std::int64_t group, int values) : lane(lane) {
    block = tile + group / groups_in_block * (block_header + groups_in_block * (header + values));
    const auto index = static_cast<int>(group % groups_in_block);
    data = block + block_header + index * (header + values);
    left = groups_in_block - index;
  }

  COGEN_INLINE simd::f scale(int c, int part) const {
    return simd::mul(simd::load_f16(block + 2 * (lane + c * simd::width)), factor<0>(c, part));
  }
  COGEN_INLINE simd::f least(int c, int part) const {
    return simd::mul(simd::load_f16(block + 2 * (tile_lanes + lane + c * simd::width)), factor<1>(c, part));
  }
  COGEN_INLINE void advance(int values) {
    data += header + values;
    if (--left > 0) return;
    left = groups_in_block;
    block = data;
    data += block_header;
  }

  const std::byte* block;
  const std::byte* data;
  int lane;
  int left;

 private:
  template <int Field>
  COGEN_INLINE simd::f factor(int c, int part) const {
    const std::byte* factors = data + lane + c * simd::width;
    if constexpr (Nibbles) return simd::template codes<4>(factors + part * tile_lanes, Field);
    return simd::signed_bytes(factors + (Field * Parts + part) * tile_lanes);
  }
};

/// The same behind a table, whose unit multiplies them.
class tabled_scales : public block_scales<false, 2> {
 public:
  using plain = block_scales<false, 2>;

  COGEN_INLINE tabled_scales(const std::byte* tile, int lane, std::int64_t group, int values)
      : plain(tile + sizeof(code_table_header), lane, group, values),
        unit(&reinterpret_cast<const code_table_header*>(tile)->unit) {}

  COGEN_INLINE simd::f scale(int c, int part) const { return simd::mul(plain::scale(c, part), simd::set(*unit)); }

  const float* unit;
};

/// Fetches each line of low bits, or of whole values, some bytes before it is read.
template <class Values>
struct streamed_values : Values {
  using Values::Values;
  static constexpr int ahead = 512;

  COGEN_INLINE static typename Values::words load(const std::byte* lanes, int step) {
    __builtin_prefetch(lanes + 4 * tile_lanes * step + ahead, 0, 2);
    return Values::load(lanes, step);
  }
};

template <class Scales, class Values>
class quantized_weights : public Scales {
 public:
  using values = Values;
  /// The same, for whole tiles that are read once and in order.
  using streamed = quantized_weights<Scales, streamed_values<Values>>;
  static constexpr int inputs = quantized_group;
  static constexpr int value_bytes = tile_lanes * quantized_group * Values::bits / 8;
  /// Of a group, with its share of its block's header.
  static constexpr int bytes = Scales::header + value_bytes + Scales::block_header / groups_in_block;

  COGEN_INLINE quantized_weights(const std::byte* tile, int lane, std::int64_t group)
      : Scales(tile, lane, group, value_bytes), codes(tile) {}

  COGEN_INLINE void advance() { Scales::advance(value_bytes); }

  /// The values of vector c of outputs.
  COGEN_INLINE const std::byte* lanes(int c) const {
    return this->data + Scales::header + 4 * (this->lane + c * simd::width);
  }

  /// Calls use(quad, w) with four bytes a lane for C vectors of outputs, for each quad of a part's inputs in order.
  template <int C, class Use>
  COGEN_INLINE void quads(int part, Use use) const {
    constexpr int count = steps / Scales::parts;
    COGEN_UNROLL
    for (int index = 0; index < count; ++index) {
      const int step = part * count + index;
      typename Values::words words[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) words[c] = codes.load(lanes(c), step);
      each_quad<0, C>(words, step * Values::quads_in_step, use);
    }
  }

  static constexpr int steps = quads_in_group / Values::quads_in_step;

  [[no_unique_address]] Values codes;

 private:
  template <int Quad, int C, class Use>
  COGEN_INLINE void each_quad(const typename Values::words (&words)[C], int first, Use use) const {
    simd::i w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = codes.template quad<Quad>(words[c]);
    use(first + Quad, w);
    if constexpr (Quad + 1 < Values::quads_in_step) each_quad<Quad + 1, C>(words, first, use);
  }
};

template <class Weights>
struct type_of_weights {
  using type = Weights;
};

template <class Scales, class Values, class Call>
COGEN_INLINE void call_with(Call call) {
  call(type_of_weights<quantized_weights<Scales, Values>>());
}

/// Calls call(type_of_weights<...>()) with the class for a quantized storage.
template <class Call>
void with_quantized_weights(weight_storage storage, Call call) {
  switch (storage) {
    case weight_storage::q4:
      return call_with<group_scales<false>, packed_values<4, 0, 8>>(call);
    case weight_storage::q4_min:
      return call_with<group_scales<true>, packed_values<4, 0, 0>>(call);
    case weight_storage::q5:
      return call_with<group_scales<false>, packed_values<4, 1, 16>>(call);
    case weight_storage::q5_min:
      return call_with<group_scales<true>, packed_values<4, 1, 0>>(call);
    case weight_storage::q8:
      return call_with<group_scales<false>, packed_values<8, 0, 128>>(call);
    case weight_storage::q4_nonlinear:
      return call_with<group_scales<false>, nonlinear_4_bits<iq4_values, 8, 128>>(call);
    case weight_storage::mxfp4:
      return call_with<group_exponents, nonlinear_4_bits<e2m1_halves, 5, 12>>(call);
    case weight_storage::q2_k:
      return call_with<block_scales<true, 2, true>, packed_values<2, 0, 0>>(call);
    case weight_storage::q3_k:
      return call_with<block_scales<false, 2>, packed_values<2, 1, 4>>(call);
    case weight_storage::q4_k:
      return call_with<block_scales<true, 1>, packed_values<4, 0, 0>>(call);
    case weight_storage::q5_k:
      return call_with<block_scales<true, 1>, packed_values<4, 1, 0>>(call);
    case weight_storage::q6_k:
      return call_with<block_scales<false, 2>, packed_values<4, 2, 32>>(call);
    case weight_storage::q4_nonlinear_k:
      return call_with<block_scales<false, 1>, nonlinear_4_bits<iq4_values, 8, 128>>(call);
    case weight_storage::q4_zero:
      return call_with<zero_scales<0>, packed_values<4, 0, 0>>(call);
    case weight_storage::q8_zero:
      return call_with<zero_scales<128>, packed_values<8, 0, 128>>(call);
    case weight_storage::scaled_e2m1:
      return call_with<float_scales<2>, nonlinear_4_bits<e2m1_halves, 5, 12>>(call);
    case weight_storage::q2:
      return call_with<group_scales<false>, packed_values<2, 0, 1>>(call);
    case weight_storage::nvfp4:
      return call_with<half_scales, nonlinear_4_bits<e2m1_halves, 5, 12>>(call);
    case weight_storage::q4_table_k:
      return call_with<tabled_scales, tabled_4_bits>(call);
    default:
      return;
  }
}

}  // namespace
}  // namespace cogen::kernels
