// Speed of the CUDA kernels at an 8-billion-parameter Llama's shapes, beside what a copy within device memory reaches.
// cuda_kernels [splits: decode attention with every number of splits]

#include "network/kernels/activation_cuda.hpp"
#include "network/kernels/attention_cuda.hpp"
#include "network/kernels/embed_cuda.hpp"
#include "network/kernels/linear_cuda.hpp"
#include "network/kernels/rms_norm_cuda.hpp"
#include "network/kernels/rope_cuda.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime_api.h>
#include <exception>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cogen::kernels;
using namespace cogen::kernels::cuda;

constexpr int repetitions = 25;
constexpr int heads = 32, kv_heads = 8, head_dim = 128, hidden = 4096, inner = 14336;
constexpr int slots = 64, longest = 8192;

void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

// Device memory with bytes that are finite numbers in every format.
class buffer {
 public:
  explicit buffer(std::size_t size) {
    require(cudaMalloc(&memory_, size));
    static const std::vector<std::uint32_t> noise = [] {
      std::vector<std::uint32_t> words(std::size_t{4} << 20);
      std::mt19937 engine(1);
      for (std::uint32_t& word : words) word = engine() & 0x3b3b3b3bU;
      return words;
    }();
    const std::size_t piece = noise.size() * sizeof noise[0];
    require(cudaMemcpy(memory_, noise.data(), std::min(piece, size), cudaMemcpyHostToDevice));
    for (std::size_t offset = piece; offset < size; offset += piece)
      require(cudaMemcpy(bytes() + offset, memory_, std::min(piece, size - offset), cudaMemcpyDeviceToDevice));
  }
  explicit buffer(const std::vector<std::int32_t>& values) {
    require(cudaMalloc(&memory_, values.size() * sizeof values[0]));
    require(cudaMemcpy(memory_, values.data(), values.size() * sizeof values[0], cudaMemcpyHostToDevice));
  }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { cudaFree(memory_); }

  void* data() const { return memory_; }
  std::byte* bytes() const { return static_cast<std::byte*>(memory_); }
  const std::int32_t* integers() const { return static_cast<const std::int32_t*>(memory_); }

 private:
  void* memory_ = nullptr;
};

class stopwatch {
 public:
  stopwatch() {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaEventCreate(&begin_));
    require(cudaEventCreate(&end_));
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  // Seconds of one of `count` launches, captured together; the median of many replays.
  double seconds(int count, const std::function<void(int, cudaStream_t)>& launch) {
    require(cudaDeviceSynchronize());
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < count; ++i) launch(i, stream_);
    require(cudaStreamEndCapture(stream_, &graph));
    require(cudaGraphInstantiate(&replay, graph, 0));
    require(cudaGraphDestroy(graph));
    std::vector<float> times;
    for (int i = -2; i < repetitions; ++i) {
      float milliseconds = 0;
      require(cudaEventRecord(begin_, stream_));
      require(cudaGraphLaunch(replay, stream_));
      require(cudaEventRecord(end_, stream_));
      require(cudaEventSynchronize(end_));
      require(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (i >= 0) times.push_back(milliseconds);
    }
    require(cudaGraphExecDestroy(replay));
    std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
    return times[repetitions / 2] / 1e3 / count;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

double copied_bytes_a_second = 0;

void report(const std::string& label, double seconds, double bytes) {
  std::printf("%-58s %9.1f us %8.0f GB/s %5.1f %% of a copy\n", label.c_str(), seconds * 1e6, bytes / seconds / 1e9,
              100 * bytes / seconds / copied_bytes_a_second);
  std::fflush(stdout);
}

void measure_copy(stopwatch& watch) {
  constexpr std::size_t size = std::size_t{1} << 30;
  const buffer source(size), target(size);
  const double seconds = watch.seconds(2, [&](int, cudaStream_t stream) {
    require(cudaMemcpyAsync(target.data(), source.data(), size, cudaMemcpyDeviceToDevice, stream));
  });
  copied_bytes_a_second = 2 * static_cast<double>(size) / seconds;
  report("copy of 1 GiB within the device, read and written", seconds, 2 * static_cast<double>(size));
}

// How tokens are kept.
struct kind {
  std::string name;
  number type = number::bf16;
  quantized_format keys;
  quantized_format values;
};

std::vector<kind> all_kinds() {
  return {{.name = "bf16"},
          {.name = "fp8", .type = number::fp8},
          {.name = "int8", .keys = {.bits = 8, .group = 64}, .values = {.bits = 8, .group = 64}},
          {.name = "int8 and int4", .keys = {.bits = 8, .group = 64}, .values = {.bits = 4}},
          {.name = "int4", .keys = {.bits = 4, .by_channel = true}, .values = {.bits = 4}},
          {.name = "int2", .keys = {.bits = 2, .by_channel = true}, .values = {.bits = 2}}};
}

// All slots of one layer, each of `longest` tokens.
class cache {
 public:
  explicit cache(const kind& format)
      : name_(format.name),
        quantizes_(format.keys.bits > 0),
        row_(std::size_t{kv_heads} * head_dim * static_cast<std::size_t>(bytes_of(format.type))),
        block_(quantizes_
                   ? static_cast<std::size_t>(
                         kv_heads * quantized_head_bytes({.keys = format.keys, .values = format.values}, head_dim))
                   : 0),
        rows_(2 * row_ * places() * slots),
        blocks_(block_ * longest / 64 * slots + 16) {
    layer_.keys = rows_.bytes();
    layer_.values = rows_.bytes() + row_ * places();
    layer_.slot_stride = static_cast<std::int64_t>(2 * row_ * places());
    layer_.type = format.type;
    layer_.kv_heads = kv_heads;
    layer_.head_dim = head_dim;
    if (!quantizes_) return;
    layer_.ring = static_cast<int>(places());
    layer_.quantized = {.blocks = blocks_.bytes(),
                        .slot_stride = static_cast<std::int64_t>(block_ * longest / 64),
                        .keys = format.keys,
                        .values = format.values};
  }
  const kv_layer& layer() const { return layer_; }
  const std::string& name() const { return name_; }

  double bytes_read(int rows, int context) const {
    const auto quantized = quantizes_ ? static_cast<double>(quantized_tokens(context, layer_.quantized.residual)) : 0;
    return rows *
           (quantized / 64 * static_cast<double>(block_) + 2.0 * static_cast<double>(row_) * (context - quantized));
  }

 private:
  std::size_t places() const { return quantizes_ ? 256 : longest; }

  std::string name_;
  bool quantizes_;
  std::size_t row_;
  std::size_t block_;  // bytes of 64 quantized tokens
  buffer rows_;
  buffer blocks_;
  kv_layer layer_;
};

std::vector<std::int32_t> counted(int count) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i % slots;
  return values;
}

// Launches take turns over all slots, so that no cache nearer than device memory holds what they read.
void measure_attention(stopwatch& watch, const cache& kept, int rows, int context, int splits) {
  constexpr int width = (heads + 2 * kv_heads) * head_dim;
  const buffer q(std::size_t{slots} * width * 2), out(std::size_t{slots} * heads * head_dim * 2);
  const buffer workspace(decode_workspace_bytes(rows, heads, head_dim, splits) + 16);
  const buffer counters(std::vector<std::int32_t>(static_cast<std::size_t>(rows) * heads));
  const buffer ids(counted(slots)), positions(std::vector<std::int32_t>(slots, context - 1));
  const double seconds = watch.seconds(std::max(4, slots / rows), [&](int i, cudaStream_t stream) {
    const int first = i * rows % slots;
    decode_attention(kept.layer(), {ids.integers() + first, positions.integers(), rows},
                     {.q = q.data(),
                      .q_stride = width,
                      .heads = heads,
                      .scale = 0.088F,
                      .out = out.data(),
                      .workspace = workspace.data(),
                      .counters = static_cast<std::int32_t*>(counters.data()),
                      .splits = splits},
                     stream);
  });
  report("decode attention, " + kept.name() + ", " + std::to_string(rows) + " rows of " + std::to_string(context) +
             ", " + std::to_string(splits) + " splits",
         seconds, kept.bytes_read(rows, context));
}

void measure_attention(stopwatch& watch, bool all_splits) {
  int multiprocessors = 0;
  require(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  for (const kind& format : all_kinds()) {
    const cache kept(format);
    for (const int rows : {1, 8, 64})
      for (const int context : {1024, 8192}) {
        if (!all_splits)
          measure_attention(watch, kept, rows, context, suggested_splits(rows, kv_heads, context, multiprocessors));
        else
          for (int splits = 1; splits <= std::min(128, context / 64); splits *= 2)
            measure_attention(watch, kept, rows, context, splits);
      }
  }
}

void measure_rows(stopwatch& watch, int rows) {
  const auto count = static_cast<std::size_t>(rows);
  const double numbers = static_cast<double>(rows) * hidden;
  const std::string suffix = ", " + std::to_string(rows) + " rows";
  {
    const buffer residual(count * hidden * 4), delta(count * hidden * 2), out(count * hidden * 2), weight(hidden * 2);
    report("add + RMS norm of 4096" + suffix,
           watch.seconds(10,
                         [&](int, cudaStream_t stream) {
                           add_rms_norm({.residual = residual.data(),
                                         .delta = delta.data(),
                                         .weight = weight.data(),
                                         .out = out.data(),
                                         .rows = rows,
                                         .width = hidden},
                                        stream);
                         }),
           numbers * 12);
  }
  {
    const buffer gate_up(count * inner * 4), out(count * inner * 2);
    report("SiLU and product of 14336" + suffix,
           watch.seconds(10,
                         [&](int, cudaStream_t stream) {
                           gated_activation(
                               {.gate_up = gate_up.data(), .out = out.data(), .rows = rows, .width = inner}, stream);
                         }),
           static_cast<double>(rows) * inner * 6);
  }
  {
    constexpr int vocabulary = 128256;
    const buffer table(std::size_t{vocabulary} * hidden * 2), out(count * hidden * 4), tokens(counted(rows));
    report("embedding of 4096" + suffix,
           watch.seconds(10,
                         [&](int, cudaStream_t stream) {
                           embed({.tokens = tokens.integers(),
                                  .table = table.data(),
                                  .out = out.data(),
                                  .rows = rows,
                                  .vocabulary = vocabulary,
                                  .width = hidden},
                                 stream);
                         }),
           numbers * 4);  // the table's rows repeat
  }
}

void measure_append(stopwatch& watch, const kind& format, int rows) {
  constexpr int width = (heads + 2 * kv_heads) * head_dim;
  const cache kept(format);
  const buffer qkv(static_cast<std::size_t>(rows) * width * 2), table(std::size_t{longest} * head_dim * 4);
  std::vector<std::int32_t> indices(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row) indices[static_cast<std::size_t>(row)] = 128 + row / slots;
  const buffer ids(counted(rows)), positions(indices);
  const double numbers = static_cast<double>(rows) * head_dim * (2 * heads + 2 * kv_heads);
  report("rotation + append, " + kept.name() + ", " + std::to_string(rows) + " rows",
         watch.seconds(10,
                       [&](int, cudaStream_t stream) {
                         rotate_and_append(kept.layer(), {ids.integers(), positions.integers(), rows},
                                           {static_cast<const float*>(table.data()), longest, head_dim / 2},
                                           {.qkv = qkv.data(), .stride = width, .heads = heads}, stream);
                       }),
         numbers * 2 + static_cast<double>(rows) * 2 * kv_heads * head_dim * bytes_of(format.type));
}

struct matrix {
  const char* name;
  int inputs;
  int outputs;
  linear_result result;
  bool normed;
  number out_type;
  weight_packing packing = weight_packing::whole;

  std::int64_t rows() const { return result == linear_result::gated ? 2 * outputs : outputs; }
  std::int64_t row_bytes() const {
    return packing == weight_packing::whole ? inputs * std::int64_t{2} : packed_row_bytes(packing, inputs);
  }
  std::int64_t row_scale_bytes() const {
    return packing == weight_packing::whole ? 0 : 2 * packed_row_scales(packing, inputs);
  }
};

// Launches take turns over matrices that are together more than the second cache holds.
void measure_products(stopwatch& watch, const matrix& shape, int multiprocessors) {
  constexpr std::size_t enough = std::size_t{400} << 20;
  constexpr std::size_t max_rows = max_linear_rows;
  const auto inputs = static_cast<std::size_t>(shape.inputs), outputs = static_cast<std::size_t>(shape.outputs);
  const auto size = static_cast<std::size_t>(shape.rows() * shape.row_bytes());
  const auto scale_size = static_cast<std::size_t>(shape.rows() * shape.row_scale_bytes());
  const int copies = static_cast<int>((enough + size - 1) / size);
  const buffer weights(size * static_cast<std::size_t>(copies)), norm(inputs * 2);
  const buffer scales(std::max<std::size_t>(scale_size, 1) * static_cast<std::size_t>(copies));
  const buffer x(max_rows * inputs * 4), out(max_rows * outputs * 4);
  const buffer squares(max_rows * inputs / squared_numbers * 4), next_norm(outputs * 2), next_x(max_rows * outputs * 2);
  const buffer next_squares(max_rows * outputs / squared_numbers * 4);
  const bool added = shape.result == linear_result::added;
  const auto measure = [&](int rows, bool begun) {
    const double seconds = watch.seconds(std::max(copies, 10), [&](int i, cudaStream_t stream) {
      linear({.x = x.data(),
              .norm = shape.normed && !begun ? norm.data() : nullptr,
              .squares = shape.normed && begun ? static_cast<const float*>(squares.data()) : nullptr,
              .weights = weights.bytes() + size * static_cast<std::size_t>(i % copies),
              .packing = shape.packing,
              .scales = scale_size == 0 ? nullptr : scales.bytes() + scale_size * static_cast<std::size_t>(i % copies),
              .result = shape.result,
              .out = out.data(),
              .out_type = shape.out_type,
              .next = added && begun
                          ? next_input{next_norm.data(), next_x.data(), static_cast<float*>(next_squares.data())}
                          : next_input{},
              .rows = rows,
              .inputs = shape.inputs,
              .outputs = shape.outputs,
              .blocks = multiprocessors},
             stream);
    });
    report(std::string(shape.name) + (begun ? ", norm begun before, " : ", ") + std::to_string(rows) + " rows", seconds,
           static_cast<double>(size + scale_size));
  };
  for (const int rows : {1, 4, 8, 16, 32, 64}) {
    if (!shape.normed || rows <= max_normed_rows) measure(rows, false);
    if (shape.normed || added) measure(rows, true);
  }
}

struct named_packing {
  const char* name;
  weight_packing packing;
};

// What a file may store an 8-billion-parameter Llama's feed-forward in.
void measure_packed_products(stopwatch& watch, int multiprocessors) {
  using enum weight_packing;
  for (const auto& [name, packing] :
       {named_packing{"int8", int8}, named_packing{"int4", int4}, named_packing{"int5", int5},
        named_packing{"int6", int6}, named_packing{"int6 with zeros", int6_zeros},
        named_packing{"int8 in groups", int8_groups}, named_packing{"int8 with zeros", int8_zeros},
        named_packing{"mxfp4", mxfp4}, named_packing{"fp8", fp8}}) {
    const auto up = std::string("gate and up 4096 x 28672, gated, ") + name;
    const auto down = std::string("down 14336 x 4096, added, ") + name;
    measure_products(watch, {up.c_str(), 4096, 14336, linear_result::gated, false, number::bf16, packing},
                     multiprocessors);
    measure_products(watch, {down.c_str(), 14336, 4096, linear_result::added, false, number::f32, packing},
                     multiprocessors);
  }
}

void measure_products(stopwatch& watch) {
  int multiprocessors = 0;
  require(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  using enum linear_result;
  for (const matrix& each : {matrix{"norm, queries to values 4096 x 6144", 4096, 6144, stored, true, number::bf16},
                             matrix{"heads' results 4096 x 4096, added", 4096, 4096, added, false, number::f32},
                             matrix{"norm, gate and up 4096 x 28672, gated", 4096, 14336, gated, true, number::bf16},
                             matrix{"down 14336 x 4096, added", 14336, 4096, added, false, number::f32},
                             matrix{"norm, scores 4096 x 128256", 4096, 128256, stored, true, number::f32},
                             matrix{"norm, queries to values 2048 x 3072", 2048, 3072, stored, true, number::bf16},
                             matrix{"heads' results 2048 x 2048, added", 2048, 2048, added, false, number::f32},
                             matrix{"norm, gate and up 2048 x 16384, gated", 2048, 8192, gated, true, number::bf16},
                             matrix{"down 8192 x 2048, added", 8192, 2048, added, false, number::f32},
                             matrix{"norm, scores 2048 x 128256", 2048, 128256, stored, true, number::f32}})
    measure_products(watch, each, multiprocessors);
  measure_packed_products(watch, multiprocessors);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    stopwatch watch;
    measure_copy(watch);
    measure_products(watch);
    measure_attention(watch, argc > 1 && std::strcmp(argv[1], "splits") == 0);
    for (const int rows : {1, 64, 8192}) measure_rows(watch, rows);
    for (const kind& format : all_kinds())
      for (const int rows : {1, 64, 8192}) measure_append(watch, format, rows);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
