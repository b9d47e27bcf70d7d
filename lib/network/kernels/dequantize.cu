#include "network/kernels/dequantize_cuda.hpp"
#include "network/kernels/launch.cuh"
#include "network/kernels/packed_rows.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

// A thread has a piece of a row.
template <class Weights>
__global__ void dequantize_kernel(const packed_rows of, words<4>* to) {
  const int at = static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x);
  if (at >= 4 * packed_blocks(Weights::packing, of.inputs)) return;
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  words<4>* const row_begin = to + row * (of.inputs / 8);
  for_each_eight<Weights>(of, row, at, [=](int eighth, const words<4>& x) { row_begin[eighth] = x; });
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
      launch("dequantize", dequantize_kernel<decltype(weights)>, grid, threads, stream,
             packed_rows{of.codes, of.scales, of.inputs}, static_cast<words<4>*>(to));
    });
  });
  if (!known) throw std::invalid_argument("dequantize: to numbers of f16 or bf16");
}

}  // namespace cogen::kernels::cuda
