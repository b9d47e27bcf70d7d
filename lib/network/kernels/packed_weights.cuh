#pragma once

#include "network/kernels/matrix_instructions.cuh"
#include "network/kernels/packed_weights.hpp"

#include <cstdint>

// Packed codes as numbers, without a conversion: a code's bits are put behind those of a power of two, so that they
// count its units, and what that adds is subtracted. Each such step is exact.
namespace cogen::kernels::cuda {

/// Numbers of T, two to a word. Codes of 8 bits are two bytes of a word, `First` and the one behind it. Of others a
/// word has the lowest four bits in its bits from 0 to 3 and from 16 to 19; `high` are those above them, where they
/// belong.
template <class T>
struct packed_pairs;

template <>
struct packed_pairs<f16> {
  template <int First>
  static __device__ std::uint32_t of_int8(std::uint32_t codes) {
    const std::uint32_t over_1024 = __byte_perm(codes ^ 0x80808080u, 0x64646464u, First == 0 ? 0x4140 : 0x4342);
    return subtract_f16(over_1024, 0x64806480u);  // 1024 + 128
  }
  template <int Middle>
  static __device__ std::uint32_t less_middle(std::uint32_t codes, std::uint32_t high) {
    return subtract_f16(and_or<0x000f000fu, 0x64006400u>(codes) | high, 0x64006400u + 0x00010001u * Middle);
  }
  /// Bits of E4M3 as those of a number are 2^8 times too small. There are no NaNs.
  template <int First>
  static __device__ std::uint32_t of_e4m3(std::uint32_t codes) {
    const std::uint32_t bits = __byte_perm(codes, 0, First == 0 ? 0x1404 : 0x3424);
    return multiply_add_f16((bits & 0x80008000u) | (bits & 0x7f007f00u) >> 1, 0x5c005c00u, 0);
  }
  /// Bits of E2M1 as those of a number are 2^14 times too small.
  static __device__ std::uint32_t of_e2m1(std::uint32_t codes) {
    return multiply_add_f16((codes & 0x00080008u) << 12 | (codes & 0x00070007u) << 9, 0x74007400u, 0);
  }
  static __device__ std::uint32_t scaled(std::uint32_t x, std::uint32_t scale, std::uint32_t zero) {
    return multiply_add_f16(x, scale, zero);
  }
};

template <>
struct packed_pairs<bf16> {
  /// There is room for seven bits behind 128. The eighth says whether 128 or 256 is subtracted.
  template <int First>
  static __device__ std::uint32_t of_int8(std::uint32_t codes) {
    const std::uint32_t bits = __byte_perm(codes, 0x43434343u, First == 0 ? 0x4140 : 0x4342);
    return multiply_add_bf16(bits & 0xff80ff80u, 0xbf80bf80u, bits & 0xff7fff7fu);
  }
  template <int Middle>
  static __device__ std::uint32_t less_middle(std::uint32_t codes, std::uint32_t high) {
    return multiply_add_bf16(and_or<0x000f000fu, 0x43004300u>(codes) | high, 0x3f803f80u,
                             0xc300c300u + 0x00010001u * Middle);  // - (128 + Middle)
  }
  /// As above, 2^120 times.
  template <int First>
  static __device__ std::uint32_t of_e4m3(std::uint32_t codes) {
    const std::uint32_t bits = __byte_perm(codes, 0, First == 0 ? 0x1404 : 0x3424);
    return multiply_add_bf16((bits & 0x80008000u) | (bits & 0x7f007f00u) >> 4, 0x7b807b80u, 0);
  }
  /// As above, 2^126 times.
  static __device__ std::uint32_t of_e2m1(std::uint32_t codes) {
    return multiply_add_bf16((codes & 0x00080008u) << 12 | (codes & 0x00070007u) << 6, 0x7e807e80u, 0);
  }
  static __device__ std::uint32_t scaled(std::uint32_t x, std::uint32_t scale, std::uint32_t zero) {
    return multiply_add_bf16(x, scale, zero);
  }
};

/// Eight codes of 8 bits as numbers.
template <class T>
__device__ inline words<4> eight_of_int8(std::uint32_t low, std::uint32_t high) {
  using pairs = packed_pairs<T>;
  return {{pairs::template of_int8<0>(low), pairs::template of_int8<2>(low), pairs::template of_int8<0>(high),
           pairs::template of_int8<2>(high)}};
}

template <class T>
__device__ inline words<4> eight_of_e4m3(std::uint32_t low, std::uint32_t high) {
  using pairs = packed_pairs<T>;
  return {{pairs::template of_e4m3<0>(low), pairs::template of_e4m3<2>(low), pairs::template of_e4m3<0>(high),
           pairs::template of_e4m3<2>(high)}};
}

// Weights as they are packed: a piece is 16 bytes of a row, with eight numbers for each of `halves` half steps. With it
// go `high_words` of further bits, and `scale_words` of scales. A row's block of four pieces has `high_pieces` of 16
// bytes of those bits, and `scale_bytes`.
template <int Halves, int HighWords = 0, int ScaleWords = 0>
struct piece_of {
  static constexpr int halves = Halves;
  static constexpr int high_words = HighWords, scale_words = ScaleWords;
  /// Which eight of a row's numbers a block's piece has for a half step.
  static constexpr int eighth_of(int block, int piece, int half) { return (block * Halves + half) * 4 + piece; }
  words<4> codes;
  words<HighWords == 0 ? 1 : HighWords> high;      // not set, if there are none
  words<ScaleWords == 0 ? 1 : ScaleWords> scales;  // likewise
};

/// Sixteen neighbors.
struct piece_in_order : piece_of<2> {
  static constexpr int eighth_of(int block, int piece, int half) { return (block * 4 + piece) * 2 + half; }
};

/// Numbers of T.
template <class T>
struct whole_weights {
  using number = T;
  using piece = piece_of<1>;
  static constexpr int high_pieces = 0, scale_bytes = 0;
  static __device__ words<4> eight(const piece& packed, int) { return packed.codes; }
};

/// Codes, which are multiplied by their row's scale later.
template <class T>
struct int8_weights {
  using number = T;
  using piece = piece_of<2>;
  static constexpr weight_packing packing = weight_packing::int8;
  static constexpr int high_pieces = 0, scale_bytes = 0;
  static __device__ words<4> eight(const piece& packed, int half) {
    return eight_of_int8<T>(packed.codes.values[2 * half], packed.codes.values[2 * half + 1]);
  }
};

/// The same of E4M3.
template <class T>
struct fp8_weights {
  using number = T;
  using piece = piece_in_order;
  static constexpr weight_packing packing = weight_packing::fp8;
  static constexpr int high_pieces = 0, scale_bytes = 0;
  static __device__ words<4> eight(const piece& packed, int half) {
    return eight_of_e4m3<T>(packed.codes.values[2 * half], packed.codes.values[2 * half + 1]);
  }
};

/// What codes without groups are multiplied by.
template <class T>
__device__ inline float scale_of_row(weight_packing packing, const void* scales, std::int64_t row) {
  return packing == weight_packing::fp8 ? static_cast<const float*>(scales)[row]
                                        : float(static_cast<const T*>(scales)[row]);
}

/// Codes of a form with groups, times their scale, plus their zero: rounded to T.
template <class T, weight_packing Packing>
struct grouped_weights {
  using number = T;
  using pairs = packed_pairs<T>;
  static constexpr weight_packing packing = Packing;
  static constexpr packed_form form = form_of(Packing);
  static constexpr int high_pieces = packed_high_bits(Packing);
  static constexpr int scale_bytes = 2 * packed_block_scales(Packing);
  static constexpr int parts = packed_half / form.group;  // of a half step, with scales of their own
  using piece = piece_of<packed_inputs(Packing) / packed_half, high_pieces, scale_bytes / parts / 4>;

  static __device__ words<4> eight(const piece& packed, int half) {
    const std::uint32_t both = packed.scales.values[form.zeros ? half : half / 2];
    const std::uint32_t scale = __byte_perm(both, 0, form.zeros || half % 2 == 0 ? 0x1010 : 0x3232);
    const std::uint32_t zero = form.zeros ? __byte_perm(both, 0, 0x3232) : 0;
    words<4> x;
    if constexpr (form.bits == 8)
      x = eight_of_int8<T>(packed.codes.values[2 * half], packed.codes.values[2 * half + 1]);
    else
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) x.values[pair] = pair_of_codes(packed, half, pair);
#pragma unroll
    for (auto& each : x.values) each = pairs::scaled(each, scale, zero);
    return x;
  }

 private:
  static __device__ std::uint32_t pair_of_codes(const piece& packed, int half, int pair) {
    const std::uint32_t codes = packed.codes.values[half] >> 4 * pair;
    if constexpr (form.e2m1)
      return pairs::of_e2m1(codes);
    else
      return pairs::template less_middle<form.middle()>(codes, high_bits(packed, 4 * half + pair));
  }

  static __device__ std::uint32_t high_bits(const piece& packed, int pair) {
    if constexpr (high_pieces == 0) {
      return 0;
    } else {
      constexpr int of_word = 16 / high_pieces;
      constexpr std::uint32_t mask = 0x00010001u * ((1u << high_pieces) - 1);
      return (packed.high.values[pair / of_word] >> pair % of_word * high_pieces & mask) << 4;
    }
  }
};

/// Calls use(Weights{}) with the class of a packing with codes.
template <class T, class Use>
void with_packed_weights(weight_packing packing, Use use) {
  switch (packing) {
    case weight_packing::whole:
      return;
    case weight_packing::int8:
      return use(int8_weights<T>{});
    case weight_packing::int4:
      return use(grouped_weights<T, weight_packing::int4>{});
    case weight_packing::int5:
      return use(grouped_weights<T, weight_packing::int5>{});
    case weight_packing::int6:
      return use(grouped_weights<T, weight_packing::int6>{});
    case weight_packing::int6_zeros:
      return use(grouped_weights<T, weight_packing::int6_zeros>{});
    case weight_packing::int8_groups:
      return use(grouped_weights<T, weight_packing::int8_groups>{});
    case weight_packing::int8_zeros:
      return use(grouped_weights<T, weight_packing::int8_zeros>{});
    case weight_packing::mxfp4:
      return use(grouped_weights<T, weight_packing::mxfp4>{});
    case weight_packing::fp8:
      return use(fp8_weights<T>{});
  }
}

}  // namespace cogen::kernels::cuda
