#include "network/kernels/device_numbers.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/linear_cuda.hpp"
#include "network/kernels/linear_sums.cuh"
#include "network/kernels/matrix_instructions.cuh"
#include "network/kernels/packed_weights.cuh"

#include <algorithm>
#include <stdexcept>
#include <string>

// A tile is sixteen rows of weights. A thread block takes tiles one after the other; its warps share a row's numbers,
// some at a step and a warp, and their sums are put together at the end. Products are those of matrix instructions,
// with the tile as the left factor and x as the right one: the order of a row's numbers within a step is such that both
// are read 16 bytes at a time, and that each lane multiplies what it has itself copied to shared memory. Packed weights
// become numbers on the way from there to the instructions. Up to 16 rows of x are in shared memory, too. More do not
// fit: each warp reads its numbers of them from the caches, once for two tiles, whose sums stay in registers.
namespace cogen::kernels::cuda {
namespace {

constexpr int warps = sums_of_row;
constexpr int threads = warps * 32;
constexpr int group_tiles = 2;  // their sums are put together at the same time

constexpr int divided_up(int n, int divisor) { return (n + divisor - 1) / divisor; }

template <class Weights>
constexpr int step_inputs = Weights::piece::halves * half_step * warps;

// Bytes of a warp's step: a piece of two rows for each lane, then the further bits and the scales of all rows.
constexpr int piece_bytes = 16;
template <class Weights>
constexpr int scale_pieces = divided_up(Weights::scale_bytes, piece_bytes);
constexpr int high_begin = piece_bytes * 2 * 32;
template <class Weights>
constexpr int scale_begin = high_begin + piece_bytes * tile_outputs * Weights::high_pieces;
template <class Weights>
constexpr int stage_bytes = scale_begin<Weights> + piece_bytes * tile_outputs * scale_pieces<Weights>;

// Steps with weights under way: fewer where x takes most of the shared memory, or sums do.
template <int Rows>
constexpr int warp_bytes = Rows <= 8                 ? 6144
                           : Rows <= max_normed_rows ? 4096
                                                     : 5120;
template <class Weights, int Rows>
constexpr int depth = std::min(4, warp_bytes<Rows> / stage_bytes<Weights>);
template <class Weights, int Rows>
constexpr int stream_bytes = warps * depth<Weights, Rows> * stage_bytes<Weights>;

struct linear_job {
  linear_operands operands;
  int row_pieces;   // of 16 bytes, that lanes multiply of a row of weights
  int row_stride;   // all of it, in such pieces
  int steps;        // to a row of weights
  int chunk_steps;  // of those, as many as shared memory has room for x

  // 1 if each tile of gates is followed by the one of what they are multiplied with, else 0.
  __device__ int pairs() const { return operands.result == linear_result::gated ? 1 : 0; }
};

struct range {
  int begin;
  int end;
};

__device__ range tiles_of_block(const linear_job& job) {
  const int tiles = divided_up(job.operands.outputs, tile_outputs), blocks = static_cast<int>(gridDim.x);
  const auto first = [&](int block) { return (tiles / blocks * block + min(block, tiles % blocks)) << job.pairs(); };
  const int block = static_cast<int>(blockIdx.x);
  return {first(block), first(block + 1)};
}

__device__ int lane_index() { return static_cast<int>(threadIdx.x) % 32; }
__device__ int warp_index() { return static_cast<int>(threadIdx.x) / 32; }

// What a lane multiplies at a step: pieces of rows lane / 4 and lane / 4 + 8.
template <class Weights>
struct step_weights {
  typename Weights::piece pieces[2];
};

// The weights that a warp multiplies, a step after the other, on their way to places in shared memory that are the
// warp's own. For a group of tiles at a time, chunk by chunk of x: tile by tile, step by step.
template <class Weights, int Rows>
class weight_stream {
 public:
  __device__ weight_stream(const linear_job& job, range tiles, std::uint32_t memory)
      : job_(job),
        memory_(memory + warp_index() * depth<Weights, Rows> * stage_bytes<Weights>),
        end_(tiles.end),
        group_(tiles.begin),
        tile_(tiles.begin) {
    aim();
#pragma unroll
    for (int i = 0; i < depth<Weights, Rows>; ++i) begin_copy();
  }

  __device__ step_weights<Weights> next() {
    wait_for_copies<depth<Weights, Rows> - 1>();
    if constexpr (shares_copies) __syncwarp();  // the lanes that copied what others read have waited, too
    step_weights<Weights> read;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      auto& piece = read.pieces[i];
      piece.codes = load_shared(piece_place(i));
      if constexpr (Weights::high_pieces > 0) piece.high = load_shared<of_piece::high_words>(high_place(i));
      if constexpr (Weights::scale_bytes > 0) piece.scales = load_shared<of_piece::scale_words>(scale_place(i));
    }
    if constexpr (shares_copies) __syncwarp();  // what all have read may be written over
    begin_copy();
    return read;
  }

 private:
  using of_piece = typename Weights::piece;
  static constexpr int step_pieces = 4 * warps;
  static constexpr bool shares_copies = Weights::high_pieces > 0 || Weights::scale_bytes > 0;

  __device__ std::uint32_t place(std::uint32_t offset) const { return place_ + memory_ + offset; }
  __device__ std::uint32_t piece_place(int i) const { return place((32 * i + lane_index()) * piece_bytes); }
  __device__ std::uint32_t high_place(int i) const {
    return place(high_begin + (32 * i + lane_index()) * of_piece::high_words * 4);
  }
  __device__ std::uint32_t scale_place(int i) const {
    return place(scale_begin<Weights> + (lane_index() / 4 + 8 * i) * scale_pieces<Weights> * piece_bytes + own_scales_);
  }

  // Of a row's scales as they are copied, where those are that the lane multiplies by. Where a block has less than 16
  // bytes of them, others are copied with it.
  static __device__ std::uint32_t own_scales() {
    if constexpr (Weights::scale_bytes == 0) {
      return 0;
    } else {
      constexpr int of_lane = of_piece::scale_words * 4, lanes = 4 * of_lane / Weights::scale_bytes;
      return warp_index() * Weights::scale_bytes % piece_bytes + lane_index() % 4 / lanes * of_lane;
    }
  }

  // To the places that were read last.
  __device__ void begin_copy() {
    if (tile_ < end_) {
      const bool inside = piece_ < job_.row_pieces;
      copy_streamed(piece_place(0), source_, inside && outputs_ > 0);
      copy_streamed(piece_place(1), source_ + std::int64_t{8} * job_.row_stride, inside && outputs_ > 8);
      if constexpr (shares_copies) copy_shared();
      advance();
    }
    end_copies();
    constexpr std::uint32_t last = (depth<Weights, Rows> - 1) * stage_bytes<Weights>;
    place_ = place_ == last ? 0 : place_ + stage_bytes<Weights>;
  }

  // What several lanes read.
  __device__ void copy_shared() {
    const int blocks = job_.row_pieces / 4, block = step_ * warps + warp_index();
    const auto* const weights = static_cast<const words<4>*>(job_.operands.weights);
    const auto* const all_scales = static_cast<const words<4>*>(job_.operands.scales);
    if constexpr (Weights::high_pieces > 0)
      copy_rows<Weights::high_pieces>(place(high_begin), weights + job_.row_pieces + block * Weights::high_pieces,
                                      job_.row_stride, block < blocks);
    copy_rows<scale_pieces<Weights>>(place(scale_begin<Weights>),
                                     all_scales + block * Weights::scale_bytes / piece_bytes,
                                     divided_up(blocks * Weights::scale_bytes, piece_bytes), block < blocks);
  }

  // Pieces of each row of the tile, of which the matrix's first row has these.
  template <int Pieces>
  __device__ void copy_rows(std::uint32_t target, const words<4>* source, int stride, bool inside) {
#pragma unroll
    for (int first = 0; first < tile_outputs * Pieces; first += 32) {
      const int piece = first + lane_index(), row = piece / Pieces;
      if (row >= tile_outputs) return;
      copy_streamed(target + piece * piece_bytes, source + (first_row() + row) * stride + piece % Pieces,
                    inside && first_output() + row < job_.operands.outputs);
    }
  }

  __device__ void advance() {
    piece_ += step_pieces;
    source_ += step_pieces;
    if (++step_ < min(chunk_ + job_.chunk_steps, job_.steps)) return;
    if (++tile_ == min(group_ + group_tiles, end_)) {
      chunk_ += job_.chunk_steps;
      if (chunk_ < job_.steps) {
        tile_ = group_;
      } else {
        group_ = tile_;
        chunk_ = 0;
      }
    }
    step_ = chunk_;
    aim();
  }

  // Of the tile.
  __device__ int first_output() const { return (tile_ >> job_.pairs()) * tile_outputs; }
  __device__ std::int64_t first_row() const {
    return first_output() + std::int64_t{tile_ & job_.pairs()} * job_.operands.outputs;
  }

  __device__ void aim() {
    const int row = lane_index() / 4;
    outputs_ = job_.operands.outputs - first_output() - row;
    piece_ = (step_ * warps + warp_index()) * 4 + lane_index() % 4;
    source_ = static_cast<const words<4>*>(job_.operands.weights) + (first_row() + row) * job_.row_stride + piece_;
  }

  const linear_job& job_;
  const std::uint32_t memory_;  // an address in shared memory
  const std::uint32_t own_scales_ = own_scales();
  std::uint32_t place_ = 0;  // of the step that is read next, in bytes behind `memory_`

  // What is copied next.
  int end_;
  int group_;
  int chunk_ = 0;
  int tile_;
  int step_ = 0;

  // By the lane: from its first row of the tile on.
  const words<4>* source_;
  int piece_;
  int outputs_;  // that are left
};

// Each number becomes the sum of it over all lanes.
template <int Batch>
__device__ void add_lanes(float (&x)[Batch]) {
#pragma unroll
  for (int i = 0; i < Batch; ++i)
    for (int lanes = 16; lanes > 0; lanes /= 2) x[i] += __shfl_xor_sync(0xffffffff, x[i], lanes);
}

// What each row of a norm is multiplied by, of the sum of its squares.
__device__ float norm_scale(const linear_operands& operands, float squares) {
  return 1.0F / sqrtf(squares / static_cast<float>(operands.inputs) + operands.epsilon);
}

// The same for all rows, where others have squared them. Always added up in the same order.
__device__ void read_scales(const linear_operands& operands, float* scales) {
  const int parts = divided_up(operands.inputs, squared_numbers);
  for (int row = warp_index(); row < operands.rows; row += warps) {
    float sum[1] = {};
    for (int part = lane_index(); part < parts; part += 32) sum[0] += operands.squares[row * parts + part];
    add_lanes(sum);
    if (lane_index() == 0) scales[row] = norm_scale(operands, sum[0]);
  }
}

// A warp's products of a tile with each eight rows of x: as the lanes hold them, see multiply_add().
template <int Rows>
struct tile_product {
  float values[Rows / 8][4];
};

// Those of `Some` rows from `first` on.
template <int Some, int Rows>
__device__ tile_product<Some> some_of(const tile_product<Rows>& product, int first) {
  tile_product<Some> some;
#pragma unroll
  for (int eighth = 0; eighth < Some / 8; ++eighth)
#pragma unroll
    for (int i = 0; i < 4; ++i) some.values[eighth][i] = product.values[first / 8 + eighth][i];
  return some;
}

// The rows of x, as the tiles take them: [half steps, rows, half_step] of numbers.
template <class Weights, int Rows>
class input_rows {
  using T = typename Weights::number;

 public:
  __device__ input_rows(const linear_operands& operands, words<4>* memory)
      : operands_(operands), memory_(memory), address_(shared_address(memory)) {}

  // What each row is multiplied with, where there is a norm.
  __device__ void find_scales(float (&sums)[Rows][warps], float (&scales)[Rows]) {
    scales_ = scales;
    if (operands_.norm == nullptr) return;
    for (int first = 0; first < operands_.rows; first += batch) {
      float squares[batch] = {};
#pragma unroll 1
      for (int column = static_cast<int>(threadIdx.x) * 8; column < operands_.inputs; column += threads * 8) {
        eight x[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i) x[i] = load_eight(row<float>(first + i) + column);
#pragma unroll
        for (int i = 0; i < batch; ++i)
#pragma unroll
          for (int element = 0; element < 8; ++element)
            squares[i] = fmaf(x[i].values[element], x[i].values[element], squares[i]);
      }
      add_lanes(squares);
#pragma unroll
      for (int i = 0; i < batch; ++i)
        if (lane_index() == 0 && first + i < operands_.rows) sums[first + i][warp_index()] = squares[i];
    }
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < operands_.rows) {
      float sum = 0.0F;
      for (int warp = 0; warp < warps; ++warp) sum += sums[threadIdx.x][warp];
      scales[threadIdx.x] = norm_scale(operands_, sum);
    }
    __syncthreads();
  }

  // Loads the numbers of these steps; zeros beyond the last one.
  __device__ void load(range steps) {
    const int pieces = (steps.end - steps.begin) * (step_inputs<Weights> / 8);
#pragma unroll 1
    for (int piece = static_cast<int>(threadIdx.x); piece < pieces; piece += threads) {
      const int input = steps.begin * step_inputs<Weights> + input_of(piece);
      const bool inside = input < operands_.inputs;
      for (int first = 0; first < operands_.rows; first += batch) {
        words<4> x[batch] = {};
        if (inside) read(first, input, x);
#pragma unroll
        for (int i = 0; i < batch; ++i)
          if (first + i < operands_.rows) memory_[(piece / 4 * operands_.rows + first + i) * 4 + piece % 4] = x[i];
      }
    }
  }

  // Adds the products of a warp's share of a step, counted from the first one that was loaded. What lanes multiply
  // where there is no row ends in sums that nobody reads.
  __device__ void multiply(int step, const step_weights<Weights>& weights, tile_product<Rows>& sums) const {
    const int lane = lane_index(), last = operands_.rows * 4 - 1;
    const std::uint32_t half_bytes = operands_.rows * half_step * sizeof(T);
    std::uint32_t x = address_ + (step * warps + warp_index()) * Weights::piece::halves * half_bytes;
#pragma unroll
    for (int half = 0; half < Weights::piece::halves; ++half, x += half_bytes) {
      const words<4> first = Weights::eight(weights.pieces[0], half);
      const words<4> second = Weights::eight(weights.pieces[1], half);
#pragma unroll
      for (int eighth = 0; eighth < Rows / 8; ++eighth) {
        const words<4> rows = load_shared(x + min(lane + 32 * eighth, last) * piece_bytes);
        multiply_add<T>(sums.values[eighth], {{first.values[0], second.values[0], first.values[1], second.values[1]}},
                        rows.values[0], rows.values[1]);
        multiply_add<T>(sums.values[eighth], {{first.values[2], second.values[2], first.values[3], second.values[3]}},
                        rows.values[2], rows.values[3]);
      }
    }
  }

 private:
  static constexpr int batch = 4;  // rows that are read at once

  // The first of those that lie as a piece of x.
  static __device__ int input_of(int piece) {
    constexpr int halves = Weights::piece::halves;
    const int half_step = piece / 4;
    return 8 * Weights::piece::eighth_of(half_step / halves, piece % 4, half_step % halves);
  }

  // There is always a row to read.
  template <class Stored>
  __device__ const Stored* row(int index) const {
    return static_cast<const Stored*>(operands_.x) + std::int64_t{min(index, operands_.rows - 1)} * operands_.inputs;
  }

  __device__ void read(int first, int input, words<4> (&target)[batch]) const {
    if (operands_.norm == nullptr) {
#pragma unroll
      for (int i = 0; i < batch; ++i) target[i] = *reinterpret_cast<const words<4>*>(row<T>(first + i) + input);
      return;
    }
    const eight factor = load_eight(static_cast<const T*>(operands_.norm) + input);
    eight x[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) x[i] = load_eight(row<float>(first + i) + input);
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const float scale = scales_[min(first + i, operands_.rows - 1)];
#pragma unroll
      for (int pair = 0; pair < 4; ++pair)
        target[i].values[pair] = word_of<T>(x[i].values[2 * pair] * scale * factor.values[2 * pair],
                                            x[i].values[2 * pair + 1] * scale * factor.values[2 * pair + 1]);
    }
  }

  const linear_operands& operands_;
  words<4>* memory_;
  const std::uint32_t address_;  // of the same
  const float* scales_ = nullptr;
};

// The warps' products of a group of tiles: [tiles, warps, eights of rows, halves of the outputs, 8 outputs, 8 rows].
template <int Rows>
class tile_sums {
 public:
  static constexpr int size = tile_outputs * Rows;  // of a tile and a warp

  __device__ explicit tile_sums(float* memory) : memory_(memory) {}

  __device__ void load(int tile, tile_product<Rows>& sums) const {
#pragma unroll
    for (int eighth = 0; eighth < Rows / 8; ++eighth)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float2 two = *slot(tile, eighth, half);
        sums.values[eighth][2 * half] = two.x, sums.values[eighth][2 * half + 1] = two.y;
      }
  }

  __device__ void store(int tile, const tile_product<Rows>& sums) {
#pragma unroll
    for (int eighth = 0; eighth < Rows / 8; ++eighth)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *slot(tile, eighth, half) = {sums.values[eighth][2 * half], sums.values[eighth][2 * half + 1]};
  }

  // Always added up in the same order.
  __device__ float total(int tile, int row, int output) const {
    const int place = (row / 8 * 2 + output / 8) * 64 + output % 8 * 8 + row % 8;
    float sum = 0.0F;
#pragma unroll
    for (int warp = 0; warp < warps; ++warp) sum += memory_[(tile * warps + warp) * size + place];
    return sum;
  }

 private:
  __device__ float2* slot(int tile, int eighth, int half) const {
    float* const of_warp = memory_ + (tile * warps + warp_index()) * size;
    return reinterpret_cast<float2*>(of_warp + (eighth * 2 + half) * 64) + lane_index();
  }

  float* memory_;
};

// A tile's outputs of a row are those of 16 neighboring lanes.
template <class T>
__device__ void put_next(const linear_operands& operands, int row, int output, float y) {
  static_assert(squared_numbers == tile_outputs);
  const next_input& next = operands.next;
  const bool inside = output < operands.outputs;
  const unsigned lanes = 0xffffu << (lane_index() & 16);
  float squares = inside ? y * y : 0.0F;
  for (int distance = 8; distance > 0; distance /= 2) squares += __shfl_xor_sync(lanes, squares, distance);
  if (output % squared_numbers == 0)
    next.squares[row * divided_up(operands.outputs, squared_numbers) + output / squared_numbers] = squares;
  if (inside)
    static_cast<T*>(next.x)[std::int64_t{row} * operands.outputs + output] =
        T(y * float(static_cast<const T*>(next.norm)[output]));
}

// Puts the warps' sums for these rows together, and the results where they belong.
template <class T, int Rows>
__device__ void finish(const linear_job& job, range group, range rows, const tile_sums<Rows>& sums,
                       const float* scales) {
  const linear_operands& operands = job.operands;
  const int row_count = rows.end - rows.begin;
  const int count = ((group.end - group.begin) >> job.pairs()) * row_count * tile_outputs;
  for (int index = static_cast<int>(threadIdx.x); index < count; index += threads) {
    const int column = index % tile_outputs, inside = index / tile_outputs % row_count, row = rows.begin + inside;
    const int tile = index / tile_outputs / row_count << job.pairs();
    const int output = ((group.begin + tile) >> job.pairs()) * tile_outputs + column;
    float y = 0.0F;
    if (output < operands.outputs) {
      const float sum = sums.total(tile, inside, column);
      y = operands.result == linear_result::gated
              ? gated_result_of<T>(operands, sum, sums.total(tile + 1, inside, column), scales[row], output)
              : result_of<T>(operands, sum, scales[row], output);
      y = put<T>(operands, std::int64_t{row} * operands.outputs + output, y);
    }
    if (operands.next.norm) put_next<T>(operands, row, output, y);
  }
}

template <class Weights, int Rows>
__global__ void __launch_bounds__(threads, 1) linear_kernel(const __grid_constant__ linear_job job) {
  words<4>* const memory = shared_memory<words<4>>();
  __shared__ float squares[Rows][warps], scales[Rows];
  constexpr int stream_words = stream_bytes<Weights, Rows> / 16;
  constexpr int sum_words = group_tiles * warps * tile_sums<Rows>::size / 4;
  trigger_launch_completion();
  const range tiles = tiles_of_block(job);
  weight_stream<Weights, Rows> weights(job, tiles, shared_address(memory));
  tile_sums<Rows> sums(reinterpret_cast<float*>(memory + stream_words));
  input_rows<Weights, Rows> inputs(job.operands, memory + stream_words + sum_words);
  grid_dependency_synchronize();  // weights alone are read before
  inputs.find_scales(squares, scales);
  if (job.operands.squares) read_scales(job.operands, scales);

  for (range group{tiles.begin, 0}; group.begin < tiles.end; group.begin = group.end) {
    group.end = min(group.begin + group_tiles, tiles.end);
    for (range chunk{0, 0}; chunk.begin < job.steps; chunk.begin = chunk.end) {
      chunk.end = min(chunk.begin + job.chunk_steps, job.steps);
      if (job.chunk_steps < job.steps || group.begin == tiles.begin) {
        __syncthreads();  // no warp needs the chunk before
        inputs.load(chunk);
        __syncthreads();
      }
      for (int tile = 0; tile < group.end - group.begin; ++tile) {
        tile_product<Rows> sum = {};
        if (chunk.begin > 0) sums.load(tile, sum);
#pragma unroll 1
        for (int step = 0; step < chunk.end - chunk.begin; ++step) inputs.multiply(step, weights.next(), sum);
        sums.store(tile, sum);
      }
    }
    __syncthreads();
    finish<typename Weights::number>(job, group, {0, job.operands.rows}, sums, scales);
    __syncthreads();
  }
}

// A warp's numbers of many rows of x.
template <class Weights>
class cached_rows {
  using T = typename Weights::number;

 public:
  static constexpr int eighths = max_linear_rows / 8;

  __device__ explicit cached_rows(const linear_operands& operands)
      : operands_(operands), x_(static_cast<const T*>(operands.x)) {}

  // Adds the products of a warp's share of a step with each tile of a group.
  __device__ void multiply(int step, const step_weights<Weights> (&weights)[group_tiles],
                           tile_product<max_linear_rows> (&sums)[group_tiles]) const {
#pragma unroll
    for (int half = 0; half < Weights::piece::halves; ++half) {
      const int input = 8 * Weights::piece::eighth_of(step * warps + warp_index(), lane_index() % 4, half);
      words<4> first[group_tiles], second[group_tiles];
#pragma unroll
      for (int tile = 0; tile < group_tiles; ++tile) {
        first[tile] = Weights::eight(weights[tile].pieces[0], half);
        second[tile] = Weights::eight(weights[tile].pieces[1], half);
      }
#pragma unroll
      for (int eighth = 0; eighth < eighths; ++eighth) {
        if (eighth * 8 >= operands_.rows) continue;
        const words<4> rows = read(eighth * 8 + lane_index() / 4, input);
#pragma unroll
        for (int tile = 0; tile < group_tiles; ++tile) {
          auto& sum = sums[tile].values[eighth];
          const auto &a = first[tile], &b = second[tile];
          multiply_add<T>(sum, {{a.values[0], b.values[0], a.values[1], b.values[1]}}, rows.values[0], rows.values[1]);
          multiply_add<T>(sum, {{a.values[2], b.values[2], a.values[3], b.values[3]}}, rows.values[2], rows.values[3]);
        }
      }
    }
  }

 private:
  __device__ words<4> read(int row, int input) const {
    if (row >= operands_.rows || input >= operands_.inputs) return {};
    return *reinterpret_cast<const words<4>*>(x_ + std::int64_t{row} * operands_.inputs + input);
  }

  const linear_operands& operands_;
  const T* const x_;
};

// Rows whose sums are put together at a time.
constexpr int finished_rows = 32;

template <class Weights>
__global__ void __launch_bounds__(threads, 1) many_rows_kernel(const __grid_constant__ linear_job job) {
  constexpr int rows = max_linear_rows;
  words<4>* const memory = shared_memory<words<4>>();
  __shared__ float scales[rows];
  trigger_launch_completion();
  const range tiles = tiles_of_block(job);
  weight_stream<Weights, rows> weights(job, tiles, shared_address(memory));
  tile_sums<finished_rows> sums(reinterpret_cast<float*>(memory + stream_bytes<Weights, rows> / 16));
  const cached_rows<Weights> inputs(job.operands);
  grid_dependency_synchronize();  // weights alone are read before
  if (job.operands.squares) read_scales(job.operands, scales);

  for (range group{tiles.begin, 0}; group.begin < tiles.end; group.begin = group.end) {
    group.end = min(group.begin + group_tiles, tiles.end);
    tile_product<rows> products[group_tiles] = {};
#pragma unroll 1
    for (int step = 0; step < job.steps; ++step) {
      step_weights<Weights> of_tiles[group_tiles] = {};
#pragma unroll
      for (int tile = 0; tile < group_tiles; ++tile)
        if (tile < group.end - group.begin) of_tiles[tile] = weights.next();
      inputs.multiply(step, of_tiles, products);
    }
#pragma unroll
    for (int first = 0; first < rows; first += finished_rows) {
      if (first >= job.operands.rows) continue;
#pragma unroll
      for (int tile = 0; tile < group_tiles; ++tile) sums.store(tile, some_of<finished_rows>(products[tile], first));
      __syncthreads();
      finish<typename Weights::number>(job, group, {first, min(first + finished_rows, job.operands.rows)}, sums,
                                       scales);
      __syncthreads();
    }
  }
}

void check(const linear_operands& operands) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("linear: " + why); };
  if (operands.rows < 0 || operands.rows > max_rows_of(operands))
    refuse(std::to_string(operands.rows) + " rows; up to " + std::to_string(max_rows_of(operands)) + " are possible");
  if (operands.inputs <= 0 || operands.inputs % 8 != 0)
    refuse("rows of " + std::to_string(operands.inputs) + " numbers; multiples of 8 are possible");
  if (has_groups(operands.packing) && operands.inputs % packed_half != 0)
    refuse("rows of " + std::to_string(operands.inputs) + " codes in groups; multiples of 32 are possible");
  if ((operands.packing == weight_packing::whole) != (operands.scales == nullptr))
    refuse("packed weights have scales, and only those");
  if (operands.outputs <= 0 || operands.blocks <= 0) refuse("outputs and blocks are at least 1");
  if (operands.norm != nullptr && operands.squares != nullptr) refuse("a norm is of rows that are not squared yet");
  const bool added = operands.result == linear_result::added;
  if (operands.next.norm != nullptr && (!added || operands.next.x == nullptr || operands.next.squares == nullptr))
    refuse("rows for a norm are those that something is added to, and have squares");
  if ((operands.type != number::f16 && operands.type != number::bf16) ||
      (operands.out_type != number::f32 && (added || operands.out_type != operands.type)))
    refuse("unsupported combination of types");
}

std::size_t max_shared_bytes() {
  int device = 0, bytes = 0;
  require_launched("linear", cudaGetDevice(&device));
  require_launched("linear", cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(bytes);
}

// `Sums`: rows whose sums are in shared memory at the same time.
template <class Weights, int Rows, int Sums>
constexpr std::size_t fixed_bytes =
    stream_bytes<Weights, Rows> + group_tiles * warps * tile_sums<Sums>::size * sizeof(float);

template <class Weights>
linear_job job_of(const linear_operands& operands) {
  const bool is_whole = operands.packing == weight_packing::whole;
  const auto inputs = static_cast<std::int64_t>(operands.inputs);
  const auto row_pieces = static_cast<int>(is_whole ? inputs / 8 : 4 * packed_blocks(operands.packing, inputs));
  const auto row_stride =
      is_whole ? row_pieces : static_cast<int>(packed_row_bytes(operands.packing, inputs) / piece_bytes);
  return {operands, row_pieces, row_stride, divided_up(operands.inputs, step_inputs<Weights>), 1};
}

// `bytes` of shared memory for now, `room` for any.
void launch_job(void (*kernel)(linear_job), const linear_job& job, std::size_t bytes, std::size_t room,
                cudaStream_t stream) {
  require_launched("linear",
                   cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(room)));
  const int blocks = std::min(job.operands.blocks, divided_up(job.operands.outputs, tile_outputs));
  launch("linear", kernel, launch_shape{dim3(static_cast<unsigned>(blocks)), threads, bytes, true}, stream, job);
}

// What the kernel has besides, and the system of each block.
constexpr std::size_t named_bytes = 2048;

template <class Weights, int Rows>
void launch_linear(const linear_operands& operands, cudaStream_t stream) {
  constexpr std::size_t fixed = fixed_bytes<Weights, Rows, Rows>;
  const std::size_t step_bytes =
      static_cast<std::size_t>(operands.rows) * step_inputs<Weights> * sizeof(typename Weights::number);
  const std::size_t most = max_shared_bytes();
  const int room = most > fixed + named_bytes ? static_cast<int>((most - fixed - named_bytes) / step_bytes) : 0;
  if (room == 0) throw std::runtime_error("linear: the device has too little shared memory");
  auto job = job_of<Weights>(operands);
  job.chunk_steps = divided_up(job.steps, divided_up(job.steps, room));
  const std::size_t bytes = fixed + static_cast<std::size_t>(job.chunk_steps) * step_bytes;
  launch_job(linear_kernel<Weights, Rows>, job, bytes, most - named_bytes, stream);
}

template <class Weights>
void launch_many_rows(const linear_operands& operands, cudaStream_t stream) {
  constexpr std::size_t bytes = fixed_bytes<Weights, max_linear_rows, finished_rows>;
  if (max_shared_bytes() < bytes + named_bytes)
    throw std::runtime_error("linear: the device has too little shared memory");
  launch_job(many_rows_kernel<Weights>, job_of<Weights>(operands), bytes, bytes, stream);
}

template <class Weights>
void launch_for_rows(const linear_operands& operands, cudaStream_t stream) {
  if (operands.rows <= 8) return launch_linear<Weights, 8>(operands, stream);
  if (operands.rows <= max_normed_rows) return launch_linear<Weights, max_normed_rows>(operands, stream);
  launch_many_rows<Weights>(operands, stream);
}

}  // namespace

void linear(const linear_operands& operands, cudaStream_t stream) {
  check(operands);
  if (operands.rows == 0) return;
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    if (operands.packing == weight_packing::whole) return launch_for_rows<whole_weights<T>>(operands, stream);
    with_packed_weights<T>(operands.packing,
                           [&](auto weights) { launch_for_rows<decltype(weights)>(operands, stream); });
  });
}

}  // namespace cogen::kernels::cuda
