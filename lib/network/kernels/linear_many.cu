#include "network/kernels/device_numbers.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/linear_cuda.hpp"
#include "network/kernels/linear_sums.cuh"
#include "network/kernels/matrix_instructions.cuh"

#include <stdexcept>
#include <string>

// A thread block computes the results of some rows for some outputs, each warp 64 rows for 32 outputs. It goes through
// the numbers of a row sum by sum, see linear_sums.cuh: where a sum is complete, it is added to those before it.
namespace cogen::kernels::cuda {
namespace {

constexpr int warp_tiles = 2;   // of outputs
constexpr int warp_eights = 8;  // of rows
constexpr int depth = 6;        // half steps that are under way, or are multiplied
constexpr int half_pieces = 4;  // of 16 bytes, to a half step of a row
constexpr int piece_bytes = 16;

constexpr int divided_up(int n, int divisor) { return (n + divisor - 1) / divisor; }

/// The warps of a thread block: `Across` the outputs, times `Down` the rows.
template <int Across, int Down>
struct block_form {
  static constexpr int tiles = Across * warp_tiles;
  static constexpr int outputs = tiles * tile_outputs;  // rows of weights
  static constexpr int rows = Down * warp_eights * 8;
  static constexpr int threads = Across * Down * 32;
  static constexpr int stage_pieces = (outputs + rows) * half_pieces;
  static constexpr int thread_pieces = stage_pieces / threads;
  static constexpr int stage_bytes = stage_pieces * piece_bytes;
  static constexpr int blocks_at_once = threads <= 64 ? 4 : 1;
  static_assert(stage_pieces % threads == 0);
};

struct many_job {
  linear_operands operands;
  int row_pieces;
  int steps;  // half steps of a sum

  __device__ int pairs() const { return operands.result == linear_result::gated ? 1 : 0; }
};

/// What of the weights and of x a thread copies to shared memory, half step by half step. Tiles of gates are followed
/// by those of what they are multiplied with.
template <class Form>
class copied_pieces {
 public:
  __device__ copied_pieces(const many_job& job, std::uint32_t memory) : job_(job), memory_(memory) {
#pragma unroll
    for (int i = 0; i < Form::thread_pieces; ++i) aim(i, (i * Form::threads + static_cast<int>(threadIdx.x)));
  }

  /// Of half step `number`, in the order in which they are multiplied.
  __device__ void begin(int number) {
    if (number < sums_of_row * job_.steps) {
      const int sum = number / job_.steps, step = number % job_.steps;
      const int piece = (step * sums_of_row + sum) * half_pieces;
      const bool inside = piece + static_cast<int>(threadIdx.x) % half_pieces < job_.row_pieces;
      const std::uint32_t target = memory_ + number % depth * Form::stage_bytes + threadIdx.x * piece_bytes;
#pragma unroll
      for (int i = 0; i < Form::thread_pieces; ++i)
        copy_streamed(target + i * Form::threads * piece_bytes, sources_[i] + piece, inside && wanted_[i]);
    }
    end_copies();
  }

 private:
  __device__ void aim(int i, int piece) {
    const linear_operands& operands = job_.operands;
    const int row = piece / half_pieces;
    if (row < Form::outputs) {
      const int tile = static_cast<int>(blockIdx.y) * Form::tiles + row / tile_outputs;
      const int output = (tile >> job_.pairs()) * tile_outputs + row % tile_outputs;
      const std::int64_t weight_row = output + std::int64_t{tile & job_.pairs()} * operands.outputs;
      wanted_[i] = output < operands.outputs;
      sources_[i] = static_cast<const words<4>*>(operands.weights) + weight_row * job_.row_pieces + piece % half_pieces;
    } else {
      const std::int64_t x_row = std::int64_t{blockIdx.x} * Form::rows + row - Form::outputs;
      wanted_[i] = x_row < operands.rows;
      sources_[i] = static_cast<const words<4>*>(operands.x) + x_row * job_.row_pieces + piece % half_pieces;
    }
  }

  const many_job& job_;
  const std::uint32_t memory_;
  const words<4>* sources_[Form::thread_pieces];
  bool wanted_[Form::thread_pieces];
};

/// A warp's sums, as lanes hold them: see multiply_add().
struct warp_sums {
  float values[warp_tiles][warp_eights][4];

  __device__ void add(const warp_sums& more) {
#pragma unroll
    for (int tile = 0; tile < warp_tiles; ++tile)
#pragma unroll
      for (int eight = 0; eight < warp_eights; ++eight)
#pragma unroll
        for (int i = 0; i < 4; ++i) values[tile][eight][i] += more.values[tile][eight][i];
  }
};

/// Where a warp's share of its block begins.
template <class Form>
struct warp_place {
  int lane = static_cast<int>(threadIdx.x) % 32;
  int tile = static_cast<int>(threadIdx.x) / 32 % (Form::tiles / warp_tiles) * warp_tiles;
  int row = static_cast<int>(threadIdx.x) / 32 / (Form::tiles / warp_tiles) * warp_eights * 8;
};

/// Adds the products of a half step, whose copies begin at `memory`.
template <class T, class Form>
__device__ void multiply(const warp_place<Form>& place, std::uint32_t memory, warp_sums& sums) {
  const auto piece_of = [&](int row) { return load_shared(memory + (row * half_pieces + place.lane) * piece_bytes); };
  words<4> first[warp_tiles], second[warp_tiles];
#pragma unroll
  for (int tile = 0; tile < warp_tiles; ++tile) {
    first[tile] = piece_of((place.tile + tile) * tile_outputs);
    second[tile] = piece_of((place.tile + tile) * tile_outputs + 8);
  }
#pragma unroll
  for (int eight = 0; eight < warp_eights; ++eight) {
    const words<4> x = piece_of(Form::outputs + place.row + eight * 8);
#pragma unroll
    for (int tile = 0; tile < warp_tiles; ++tile) {
      const words<4>&a = first[tile], &b = second[tile];
      multiply_add<T>(sums.values[tile][eight], {{a.values[0], b.values[0], a.values[1], b.values[1]}}, x.values[0],
                      x.values[1]);
      multiply_add<T>(sums.values[tile][eight], {{a.values[2], b.values[2], a.values[3], b.values[3]}}, x.values[2],
                      x.values[3]);
    }
  }
}

template <class T, class Form>
__device__ void finish(const many_job& job, const warp_place<Form>& place, const warp_sums& totals) {
  const linear_operands& operands = job.operands;
  const int first_tile = static_cast<int>(blockIdx.y) * Form::tiles + place.tile;
#pragma unroll
  for (int eight = 0; eight < warp_eights; ++eight)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t row =
          std::int64_t{blockIdx.x} * Form::rows + place.row + eight * 8 + place.lane % 4 * 2 + i % 2;
      if (row >= operands.rows) continue;
      const int of_tile = place.lane / 4 + i / 2 * 8;
      if (job.pairs() == 1) {
        const int output = (first_tile >> 1) * tile_outputs + of_tile;
        if (output < operands.outputs)
          put<T>(operands, row * operands.outputs + output,
                 gated_result_of<T>(operands, totals.values[0][eight][i], totals.values[1][eight][i], 1.0F, output));
        continue;
      }
#pragma unroll
      for (int tile = 0; tile < warp_tiles; ++tile) {
        const int output = (first_tile + tile) * tile_outputs + of_tile;
        if (output < operands.outputs)
          put<T>(operands, row * operands.outputs + output,
                 result_of<T>(operands, totals.values[tile][eight][i], 1.0F, output));
      }
    }
}

template <class T, class Form>
__global__ void __launch_bounds__(Form::threads, Form::blocks_at_once)
    linear_many_kernel(const __grid_constant__ many_job job) {
  const std::uint32_t memory = shared_address(shared_memory<words<4>>());
  trigger_launch_completion();
  copied_pieces<Form> pieces(job, memory);
  const warp_place<Form> place;
  grid_dependency_synchronize();
  for (int number = 0; number < depth - 1; ++number) pieces.begin(number);

  warp_sums totals = {};
  int number = 0;
  for (int sum = 0; sum < sums_of_row; ++sum) {
    warp_sums sums = {};
#pragma unroll 1
    for (int step = 0; step < job.steps; ++step, ++number) {
      wait_for_copies<depth - 2>();
      __syncthreads();  // all have copied this half step, and multiplied the one before
      pieces.begin(number + depth - 1);
      multiply<T>(place, memory + number % depth * Form::stage_bytes, sums);
    }
    totals.add(sums);
  }
  finish<T>(job, place, totals);
}

void check(const linear_operands& operands) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("linear_of_many_rows: " + why); };
  if (operands.norm != nullptr || operands.squares != nullptr || operands.next.norm != nullptr ||
      operands.packing != weight_packing::whole)
    refuse("rows are normed before, and weights are whole");
  if (operands.rows < 0 || operands.inputs <= 0 || operands.inputs % 8 != 0 || operands.outputs <= 0 ||
      operands.blocks <= 0)
    refuse("rows of " + std::to_string(operands.inputs) +
           " numbers; multiples of 8 are possible; outputs and blocks are at least 1");
  const bool added = operands.result == linear_result::added;
  if ((operands.type != number::f16 && operands.type != number::bf16) ||
      (operands.out_type != number::f32 && (added || operands.out_type != operands.type)))
    refuse("unsupported combination of types");
}

int tiles_of(const linear_operands& operands) {
  return divided_up(operands.outputs, tile_outputs) * (operands.result == linear_result::gated ? 2 : 1);
}

template <class Form>
dim3 grid_of(const linear_operands& operands) {
  return dim3(static_cast<unsigned>(divided_up(operands.rows, Form::rows)),
              static_cast<unsigned>(divided_up(tiles_of(operands), Form::tiles)));
}

template <class T, class Form>
void launch_many(const linear_operands& operands, cudaStream_t stream) {
  constexpr int bytes = depth * Form::stage_bytes;
  const auto kernel = linear_many_kernel<T, Form>;
  require_launched("linear_of_many_rows",
                   cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  launch("linear_of_many_rows", kernel, launch_shape{grid_of<Form>(operands), Form::threads, bytes, true}, stream,
         many_job{operands, operands.inputs / 8, divided_up(operands.inputs, half_step * sums_of_row)});
}

}  // namespace

void linear_of_many_rows(const linear_operands& operands, cudaStream_t stream) {
  using small = block_form<2, 1>;
  using large = block_form<4, 2>;
  check(operands);
  if (operands.rows == 0) return;
  const dim3 grid = grid_of<large>(operands);
  const bool is_enough = grid.x * grid.y >= static_cast<unsigned>(operands.blocks);
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    if (is_enough) return launch_many<T, large>(operands, stream);
    launch_many<T, small>(operands, stream);
  });
}

}  // namespace cogen::kernels::cuda
