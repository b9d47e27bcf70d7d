#include "network/kernels/dequantize_cuda.hpp"
#include "network/kernels/launch.cuh"
#include "network/kernels/packed_rows.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

// A thread has a piece of a row.
template <class Weights>
__global__ void dequantize_kernel(const packed_rows rows, words<4>* out) {
  const int piece = static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x);
  if (piece >= 4 * packed_blocks(Weights::packing, rows.inputs)) return;
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  words<4>* const row_begin = out + row * (rows.inputs / 8);
  for_each_eight<Weights>(rows, row, piece, [=](int eighth, const words<4>& x) { row_begin[eighth] = x; });
}

}  // namespace

void dequantize(const packed_matrix& matrix, void* out, cudaStream_t stream) {
  if (matrix.inputs <= 0 || matrix.inputs % 8 != 0 || matrix.outputs <= 0 ||
      (has_groups(matrix.packing) && matrix.inputs % packed_half != 0) || matrix.packing == weight_packing::whole)
    throw std::invalid_argument("dequantize: the matrix is not packed as it should be");
  const bool known = with_half_type(matrix.type, [&](auto type) {
    using T = decltype(type);
    const auto pieces = 4 * packed_blocks(matrix.packing, matrix.inputs);
    const dim3 grid(static_cast<unsigned>(matrix.outputs), static_cast<unsigned>((pieces + threads - 1) / threads));
    with_packed_weights<T>(matrix.packing, [&](auto weights) {
      launch("dequantize", dequantize_kernel<decltype(weights)>, grid, threads, stream,
             packed_rows{matrix.codes, matrix.scales, matrix.inputs}, static_cast<words<4>*>(out));
    });
  });
  if (!known) throw std::invalid_argument("dequantize: to numbers of f16 or bf16");
}

}  // namespace cogen::kernels::cuda
