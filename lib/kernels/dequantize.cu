#include "kernels/dequantize_cuda.hpp"
#include "kernels/launch.cuh"
#include "kernels/packed_weights.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

template <int N>
__device__ words<N> words_at(const void* from, std::int64_t index) {
  return static_cast<const words<N>*>(from)[index];
}

template <class Weights>
__device__ typename Weights::piece piece_at(const packed_matrix& of, std::int64_t row, int block, int piece) {
  using of_piece = typename Weights::piece;
  constexpr int row_words = 16 + 4 * Weights::high_pieces;  // of a block
  const std::int64_t blocks = packed_blocks(Weights::packing, of.inputs);
  const auto* const words_of_row = static_cast<const std::uint32_t*>(of.codes) + row * blocks * row_words;
  of_piece read;
  read.codes = words_at<4>(words_of_row, block * 4 + piece);
  if constexpr (Weights::high_pieces > 0)
    read.high = words_at<of_piece::high_words>(words_of_row + blocks * 16, block * 4 + piece);
  if constexpr (Weights::scale_bytes > 0) {
    constexpr int parts = Weights::scale_bytes / (4 * of_piece::scale_words);
    const auto* const scales =
        static_cast<const typename Weights::number*>(of.scales) + row * packed_row_scales(Weights::packing, of.inputs);
    read.scales = words_at<of_piece::scale_words>(scales, block * parts + piece * parts / 4);
  }
  return read;
}

template <class T>
__device__ words<4> multiplied(words<4> x, float by) {
#pragma unroll
  for (auto& pair : x.at) {
    const float2 numbers = widen_word<T>(pair);
    pair = word_of<T>(numbers.x * by, numbers.y * by);
  }
  return x;
}

// A thread has a piece of a row.
template <class Weights>
__global__ void dequantize_kernel(const packed_matrix of, words<4>* to) {
  using T = typename Weights::number;
  constexpr int halves = Weights::piece::halves;
  const int at = static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x);
  const int block = at / 4, piece = at % 4;
  if (block >= packed_blocks(Weights::packing, of.inputs)) return;
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const int row_pieces = of.inputs / 8;
  const auto read = piece_at<Weights>(of, row, block, piece);
#pragma unroll
  for (int half = 0; half < halves; ++half) {
    const int eighth = Weights::piece::eighth_of(block, piece, half);
    if (eighth >= row_pieces) return;
    words<4> x = Weights::eight(read, half);
    if constexpr (Weights::scale_bytes == 0) x = multiplied<T>(x, scale_of_row<T>(Weights::packing, of.scales, row));
    to[row * row_pieces + eighth] = x;
  }
}

}  // namespace

void dequantize(const packed_matrix& of, void* to, cudaStream_t stream) {
  if (of.inputs <= 0 || of.inputs % 8 != 0 || of.outputs <= 0 ||
      (has_groups(of.packing) && of.inputs % packed_half != 0) || of.packing == weight_packing::whole)
    throw std::invalid_argument("dequantize: the matrix is not packed as it should be");
  const bool known = with_half_type(of.type, [&](auto type) {
    using T = decltype(type);
    const auto pieces = 4 * packed_blocks(of.packing, of.inputs);
    const dim3 grid(static_cast<unsigned>(of.outputs), static_cast<unsigned>((pieces + threads - 1) / threads));
    with_packed_weights<T>(of.packing, [&](auto weights) {
      launch("dequantize", dequantize_kernel<decltype(weights)>, grid, threads, stream, of, static_cast<words<4>*>(to));
    });
  });
  if (!known) throw std::invalid_argument("dequantize: to numbers of f16 or bf16");
}

}  // namespace cogen::kernels::cuda
