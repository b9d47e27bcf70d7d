#pragma once

#include "network/kernels/packed_weights.cuh"

#include <cstdint>

// Rows of packed weights as numbers.
namespace cogen::kernels::cuda {

/// Codes and scales of a matrix, as linear_operands has them, in rows of `inputs` numbers.
struct packed_rows {
  const void* codes;
  const void* scales;
  int inputs;
};

template <int N>
__device__ inline words<N> words_at(const void* source, std::int64_t index) {
  return static_cast<const words<N>*>(source)[index];
}

template <class Weights>
__device__ inline typename Weights::piece piece_at(const packed_rows& rows, std::int64_t row, int block, int piece) {
  using of_piece = typename Weights::piece;
  constexpr int row_words = 16 + 4 * Weights::high_pieces;  // of a block
  const std::int64_t blocks = packed_blocks(Weights::packing, rows.inputs);
  const auto* const words_of_row = static_cast<const std::uint32_t*>(rows.codes) + row * blocks * row_words;
  of_piece read;
  read.codes = words_at<4>(words_of_row, block * 4 + piece);
  if constexpr (Weights::high_pieces > 0)
    read.high = words_at<of_piece::high_words>(words_of_row + blocks * 16, block * 4 + piece);
  if constexpr (Weights::scale_bytes > 0) {
    constexpr int parts = Weights::scale_bytes / (4 * of_piece::scale_words);
    const auto* const scales = static_cast<const typename Weights::number*>(rows.scales) +
                               row * packed_row_scales(Weights::packing, rows.inputs);
    read.scales = words_at<of_piece::scale_words>(scales, block * parts + piece * parts / 4);
  }
  return read;
}

template <class T>
__device__ inline words<4> multiplied(words<4> x, float factor) {
#pragma unroll
  for (auto& pair : x.values) {
    const float2 numbers = widen_word<T>(pair);
    pair = word_of<T>(numbers.x * factor, numbers.y * factor);
  }
  return x;
}

template <class T>
__device__ inline eight widened(const words<4>& x) {
  const float2 a = widen_word<T>(x.values[0]), b = widen_word<T>(x.values[1]);
  const float2 c = widen_word<T>(x.values[2]), d = widen_word<T>(x.values[3]);
  return {a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y};
}

/// Calls use(i, x) with x = the row's numbers from 8 * i on, eight at a time: those of the piece with this index, of
/// which a row has four in each of its packed_blocks().
template <class Weights, class Use>
__device__ inline void for_each_eight(const packed_rows& rows, std::int64_t row, int index, Use use) {
  using T = typename Weights::number;
  constexpr int halves = Weights::piece::halves;
  const int block = index / 4, piece = index % 4;
  const auto read = piece_at<Weights>(rows, row, block, piece);
#pragma unroll
  for (int half = 0; half < halves; ++half) {
    const int eighth = Weights::piece::eighth_of(block, piece, half);
    if (8 * eighth >= rows.inputs) return;
    words<4> x = Weights::eight(read, half);
    if constexpr (Weights::scale_bytes == 0) x = multiplied<T>(x, scale_of_row<T>(Weights::packing, rows.scales, row));
    use(eighth, x);
  }
}

}  // namespace cogen::kernels::cuda
