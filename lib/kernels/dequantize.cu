#include "kernels/dequantize_cuda.hpp"
#include "kernels/launch.cuh"
#include "kernels/packed_weights.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

struct numbers_of_int8 {
  static constexpr int halves = 2;
  template <class T>
  static __device__ words<4> read(const packed_matrix& of, std::int64_t row, int block, int half, int piece) {
    const auto* const codes = static_cast<const words<2>*>(of.codes);
    const words<2> both = codes[(row * packed_blocks(weight_packing::int8, of.inputs) + block) * 8 + piece * 2 + half];
    const float scale = float(static_cast<const T*>(of.scales)[row]);
    words<4> x = eight_of_int8<T>(both.at[0], both.at[1]);
#pragma unroll
    for (auto& pair : x.at) {
      const float2 numbers = widen_word<T>(pair);
      pair = word_of<T>(numbers.x * scale, numbers.y * scale);
    }
    return x;
  }
};

struct numbers_of_int4 {
  static constexpr int halves = 4;
  template <class T>
  static __device__ words<4> read(const packed_matrix& of, std::int64_t row, int block, int half, int piece) {
    const std::int64_t at = row * packed_blocks(weight_packing::int4, of.inputs) + block;
    return eight_of_int4<T>(static_cast<const std::uint32_t*>(of.codes)[at * 16 + piece * 4 + half],
                            static_cast<const std::uint32_t*>(of.scales)[at * halves + half]);
  }
};

// A thread has eight numbers of a row.
template <class T, class Numbers>
__global__ void dequantize_kernel(const packed_matrix of, words<4>* to) {
  const int at = static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x), row_pieces = of.inputs / 8;
  if (at >= row_pieces) return;
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const int half = at / 4;
  to[row * row_pieces + at] =
      Numbers::template read<T>(of, row, half / Numbers::halves, half % Numbers::halves, at % 4);
}

}  // namespace

void dequantize(const packed_matrix& of, void* to, cudaStream_t stream) {
  if (of.inputs <= 0 || of.inputs % 8 != 0 || of.outputs <= 0 ||
      (of.packing == weight_packing::int4 && of.inputs % int4_group != 0) || of.packing == weight_packing::whole)
    throw std::invalid_argument("dequantize: the matrix is not packed as it should be");
  const bool known = with_half_type(of.type, [&](auto type) {
    using T = decltype(type);
    const auto kernel = of.packing == weight_packing::int8 ? dequantize_kernel<T, numbers_of_int8>
                                                           : dequantize_kernel<T, numbers_of_int4>;
    const dim3 grid(static_cast<unsigned>(of.outputs), static_cast<unsigned>((of.inputs / 8 + threads - 1) / threads));
    launch("dequantize", kernel, grid, threads, stream, of, static_cast<words<4>*>(to));
  });
  if (!known) throw std::invalid_argument("dequantize: to numbers of f16 or bf16");
}

}  // namespace cogen::kernels::cuda
