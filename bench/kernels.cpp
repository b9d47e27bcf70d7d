// Speed of the kernels at the default model's shapes, beside this machine's memory bandwidth and multiply-add peak.
// kernels [set] [threads] [repetitions] [kv: only attention by the kind of the cache | linear: only products |
//   formats: products of each format of weights at one shape]

#include "network/kernels/attention.hpp"
#include "network/kernels/causal_convolution.hpp"
#include "network/kernels/execution.hpp"
#include "network/kernels/linear.hpp"
#include "network/kernels/selective_scan.hpp"
#include "network/kernels/tiled_matrix.hpp"
#include "timing.hpp"

#include <cogen/cache/cache.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace cogen;
using namespace cogen::kernels;

tiled_matrix random_matrix(cogen::element_type format, std::int64_t outputs, std::int64_t inputs, worker_pool& workers,
                           weight_arena& arena) {
  const std::int64_t bytes = row_bytes(format, inputs);
  std::vector<std::byte> row(static_cast<std::size_t>(bytes * tile_lanes));
  std::mt19937 engine(1);
  for (std::byte& each : row) each = static_cast<std::byte>((engine() & 0x0bU) | 0x30U);  // ordinary numbers
  const weight_source source{format, outputs, [&](std::int64_t, std::int64_t, std::byte*) { return row.data(); }};
  return tiled_matrix({&source, 1}, inputs, workers, &arena);
}

// Bytes per second that all threads read together from memory larger than any cache.
double bandwidth(worker_pool& workers) {
  const std::size_t count = std::size_t{48} << 20;
  const std::vector<float> memory(count, 1.0F);
  std::vector<float> sums(static_cast<std::size_t>(workers.threads()) * 16);
  const std::int64_t chunk = 64 << 10;
  const auto read = [&](std::int64_t task, int thread) {
    using vector = float __attribute__((vector_size(64), aligned(4)));
    vector total[4] = {};
    const float* source = memory.data() + task * chunk;
    for (std::int64_t offset = 0; offset < chunk; offset += 64)
      for (int lane = 0; lane < 4; ++lane) total[lane] += *reinterpret_cast<const vector*>(source + offset + 16 * lane);
    const vector sum = (total[0] + total[1]) + (total[2] + total[3]);
    sums[static_cast<std::size_t>(thread) * 16] += sum[0] + sum[7];
  };
  const timing time = measure([&] { workers.parallel(static_cast<std::int64_t>(count) / chunk, read); });
  return static_cast<double>(count) * sizeof(float) / time.median;
}

// A product whose operands stay in the first-level cache: what the register tiles reach at best.
double arithmetic_peak(const execution& run) {
  worker_pool& workers = *run.workers;
  const std::vector<float> ones(static_cast<std::size_t>(64 * 64), 1.0F);
  const tiled_matrix weights = pack(ones.data(), 64, 64, workers);
  const std::vector<float> x(static_cast<std::size_t>(96 * 64), 1.0F);
  std::vector<float> y(static_cast<std::size_t>(96 * weights.outputs()));
  execution alone = run;
  worker_pool worker(1);
  alone.workers = &worker;
  const timing time = measure([&] {
    linear(alone, weights, {.x = {x.data(), 64}, .y = {y.data(), weights.outputs()}, .rows = 96});
  });
  return 2.0 * 96 * 64 * static_cast<double>(weights.outputs()) / time.median * workers.threads();
}

struct model_shape {
  const char* name;
  cogen::element_type format;
  std::int64_t outputs;
  std::int64_t inputs;
};

constexpr model_shape shapes[] = {
    {"q|k|v", cogen::element_type::q4_1, 960, 576},     {"o", cogen::element_type::q4_1, 576, 576},
    {"gate|up", cogen::element_type::q4_1, 3072, 576},  {"down", cogen::element_type::q4_1, 576, 1536},
    {"head", cogen::element_type::q8_0, 49152, 576},    {"mamba in", cogen::element_type::bf16, 3072, 768},
    {"mamba out", cogen::element_type::bf16, 768, 1536}};

#if defined(__x86_64__)
// Products of bytes that one thread does on registers alone, two operations each.
double integer_peak() {
  constexpr int rounds = 100000;
  const timing time = measure([] {
    for (int round = 0; round < rounds; ++round)
      asm volatile(
          ".irp sum,0,1,2,3,4,5,6,7,8,9,10,11\n\t"
          "vpdpbusd %%zmm12, %%zmm13, %%zmm\\sum\n\t"
          ".endr" ::
              : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");
  });
  return 12.0 * rounds * 128 / time.median;
}
#else
double integer_peak() { return 0.0; }
#endif

double peak_of(const execution& run) {
  if (run.mode == compute_type::float32) return arithmetic_peak(run);
  return run.set == instruction_set::avx512_vnni ? integer_peak() * run.workers->threads() : 0.0;
}

struct peaks {
  double bandwidth;
  double exact;
  double fast;
};

constexpr std::int64_t all_row_counts[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 512};

// As many copies as make the weights larger than the caches, used in turn, as a model's layers are.
void bench_linear(execution run, const model_shape& shape, const peaks& peak,
                  std::span<const std::int64_t> row_counts = all_row_counts) {
  weight_arena arena;
  const std::int64_t bytes = row_bytes(shape.format, shape.inputs) * shape.outputs;
  const std::int64_t copies = std::max<std::int64_t>(1, (std::int64_t{80} << 20) / bytes);
  std::vector<tiled_matrix> layers;
  for (std::int64_t copy = 0; copy < copies; ++copy)
    layers.push_back(random_matrix(shape.format, shape.outputs, shape.inputs, *run.workers, arena));
  std::size_t next = 0;
  for (const std::int64_t rows : row_counts) {
    if (shape.outputs > 10000 && rows > 32) break;
    const std::vector<float> x(static_cast<std::size_t>(rows * shape.inputs), 0.5F);
    std::vector<float> y(static_cast<std::size_t>(rows * shape.outputs));
    for (const compute_type mode : {compute_type::float32, compute_type::int8}) {
      run.mode = mode;
      std::vector<float> scratch(static_cast<std::size_t>(linear_scratch_floats(run, layers[0], rows)));
      const timing time = measure([&] {
        linear(
            run, layers[next++ % layers.size()],
            {.x = {x.data(), shape.inputs}, .y = {y.data(), shape.outputs}, .rows = rows, .scratch = scratch.data()});
      });
      const bool fast = mode == compute_type::int8;
      const double read = static_cast<double>(layers[0].bytes()) / time.median;
      const double work = 2.0 * static_cast<double>(rows * shape.inputs * shape.outputs) / time.median;
      fmt::print("{:9} {:4} rows {:5} {:9.1f} us ±{:2.0f} %  {:6.1f} GB/s ({:3.0f} %)  {:7.1f} GOP/s ({:3.0f} %)\n",
                 shape.name, rows, fast ? "int8" : "float32", time.median * 1e6, time.spread * 100, read / 1e9,
                 read / peak.bandwidth * 100, work / 1e9, work / (fast ? peak.fast : peak.exact) * 100);
    }
  }
}

// Each format at the shape of a layer's feed-forward in a model of a billion weights.
void bench_formats(const execution& run, const peaks& peak) {
  using enum cogen::element_type;
  constexpr std::int64_t row_counts[] = {1, 4, 16, 128};
  for (const cogen::element_type each :
       {f32,   f16,   bf16,  q4_0,  q4_1,   q5_0,  q5_1,    q8_0,    iq4_nl,      mxfp4,      q2_k,
        q3_k,  q4_k,  q5_k,  q6_k,  iq4_xs, iq1_s, iq1_m,   iq2_xxs, iq2_xs,      iq2_s,      iq3_xxs,
        iq3_s, tq1_0, tq2_0, nvfp4, q1_0,   q2_0,  q4_zero, q8_zero, scaled_e4m3, scaled_e2m1})
    bench_linear(run, {to_string(each).data(), each, 2048, 2048}, peak, row_counts);
}

// One layer's attention of `sequences` sequences of one length, each with `queries` new tokens.
void bench_attention(const execution& run, std::int64_t sequences, std::int64_t length, std::int64_t queries) {
  const int heads = 9, kv_heads = 3, head_dim = 64;
  const std::int64_t head_bytes = 64 * head_dim * 4, block_bytes = 2 * kv_heads * head_bytes;
  const std::int64_t slot_bytes = (length + 63) / 64 * block_bytes;
  std::vector<float> memory(static_cast<std::size_t>(sequences * slot_bytes / 4), 0.25F);
  std::vector<token_rows> rows;
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    cache::kv_view view{.kv_heads = kv_heads,
                        .head_dim = head_dim,
                        .block_stride = block_bytes,
                        .head_stride = head_bytes,
                        .value_offset = kv_heads * head_bytes,
                        .ranges = 1};
    view.range[0].data = reinterpret_cast<std::byte*>(memory.data()) + sequence * slot_bytes;
    view.range[0].end = length;
    rows.push_back({view, sequence * queries, queries, length - queries});
  }
  std::vector<float> q(static_cast<std::size_t>(sequences * queries * heads * head_dim), 0.1F), out(q.size());
  const timing time = measure([&] {
    attention(
        run, rows,
        {.q = {q.data(), heads * head_dim}, .out = {out.data(), heads * head_dim}, .heads = heads, .scale = 0.125F});
  });
  const double keys = static_cast<double>(queries) * static_cast<double>(length - (queries - 1) / 2.0);
  const double work = 4.0 * static_cast<double>(sequences) * keys * heads * head_dim / time.median;
  const double read = static_cast<double>(sequences * length * 2 * kv_heads * head_dim * 4) / time.median;
  fmt::print("attention {:2} x {:4} queries, {:5} keys {:9.1f} us ±{:2.0f} %  {:6.1f} GB/s  {:7.1f} GFLOP/s\n",
             sequences, queries, length, time.median * 1e6, time.spread * 100, read / 1e9, work / 1e9);
}

struct kv_kind {
  const char* name;
  cache::scalar type;
  std::optional<cache::quantization> kv_quantization;
};

cache::keys_values random_tokens(int count, std::mt19937& engine) {
  std::normal_distribution<float> normal;
  const cache::keys_values numbers = cache::make_keys_values(3, count, 64);
  for (const cache::head_rows& rows : {numbers.k, numbers.v})
    for (int head = 0; head < rows.heads; ++head)
      for (int token = 0; token < rows.tokens; ++token)
        std::generate_n(rows.row(head, token), rows.dims, [&] { return normal(engine); });
  return numbers;
}

// One slot's cache of one kind, full of random tokens, with more layers than processor caches hold.
struct kv_memory {
  kv_memory(const kv_kind& kind, int length)
      : name(kind.name),
        tokens(std::vector<cache::kv_cache_spec>(layers, {.kv_heads = 3, .head_dim = 64}),
               {.type = kind.type, .max_sequence_length = length, .kv_quantization = kind.kv_quantization}) {
    std::mt19937 engine(1);
    for (int done = 0; done < length; done += 512) {
      const cache::step step({{.slot = 0, .count = std::min(512, length - done)}});
      const cache::keys_values numbers = random_tokens(step.tokens(), engine);
      tokens.reserve(step);
      for (int layer = 0; layer < layers; ++layer) tokens.layer(layer).append(step, numbers.k, numbers.v);
      tokens.advance(step);
    }
  }

  void attend(const execution& run, std::vector<float>& q) const {
    for (int layer = 0; layer < layers; ++layer) {
      const int length = tokens.length(0);
      token_rows row;
      row.cache = *tokens.layer(layer).view(0, length);
      row.count = 1;
      row.offset = length - 1;
      attention(run, {&row, 1}, {.q = {q.data(), 576}, .out = {q.data() + 576, 576}, .heads = 9, .scale = 0.125F});
    }
  }

  static constexpr int layers = 16;
  const char* name;
  cache::cache tokens;
  std::vector<double> times;
};

// One query against `length` tokens kept in each kind of cache, the kinds in turn, so that all meet the same machine.
void bench_kv_kinds(const execution& run, int length) {
  const kv_kind kinds[] = {{"f32", cache::scalar::f32, {}},
                           {"f16", cache::scalar::f16, {}},
                           {"bf16", cache::scalar::bf16, {}},
                           {"int8", cache::scalar::bf16, cache::int8()},
                           {"int8_int4", cache::scalar::bf16, cache::int8_int4()},
                           {"int4", cache::scalar::bf16, cache::int4()},
                           {"kivi2", cache::scalar::bf16, cache::kivi2()}};
  std::vector<kv_memory> memories;
  for (const kv_kind& kind : kinds) memories.emplace_back(kind, length);
  std::vector<float> q(2 * 576, 0.1F);
  for (int repetition = 0; repetition < 2 * repetitions; ++repetition)
    for (kv_memory& memory : memories) memory.times.push_back(seconds([&] { memory.attend(run, q); }));
  for (kv_memory& memory : memories) std::ranges::sort(memory.times);
  const auto middle = [](const kv_memory& memory) { return memory.times[memory.times.size() / 2]; };
  for (const kv_memory& memory : memories)
    fmt::print("attention 1 query, {:5} keys in {:9} {:8.1f} us, {:4.2f} of bf16's; {:5.1f} GB/s\n", length,
               memory.name, middle(memory) / kv_memory::layers * 1e6, middle(memory) / middle(memories[2]),
               static_cast<double>(memory.tokens.committed_bytes()) / middle(memory) / 1e9);
}

// One layer's convolution and scan at the shape of a Mamba of 130 million weights, beside the products "mamba in" and
// "mamba out", which the same layer takes.
void bench_recurrence(const execution& run, std::int64_t sequences, std::int64_t tokens) {
  constexpr std::int64_t channels = 1536, states = 16, taps = 4;
  constexpr std::int64_t state_floats = channels * (taps - 1 + states);
  const auto floats = [](std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count), 0.1F); };
  const auto initial = floats(sequences * state_floats), weight = floats(channels * states);
  const auto x = floats(sequences * tokens * channels), selection = floats(sequences * tokens * 2 * states);
  std::vector<float> after(initial.size()), out(x.size());
  std::vector<token_rows> rows(static_cast<std::size_t>(sequences));
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    auto& row = rows[static_cast<std::size_t>(sequence)];
    row.first = sequence * tokens;
    row.count = tokens;
    row.initial_state = initial.data() + sequence * state_floats;
    row.final_state = after.data() + sequence * state_floats;
  }
  const timing convolution = measure([&] {
    causal_convolution(run, rows,
                       {.x = {x.data(), channels},
                        .weight = weight.data(),
                        .out = {out.data(), channels},
                        .channels = channels,
                        .taps = taps});
  });
  const timing scan = measure([&] {
    selective_scan(run, rows,
                   {.x = {x.data(), channels},
                    .gate = {x.data(), channels},
                    .step = {x.data(), channels},
                    .b = {selection.data(), 2 * states},
                    .c = {selection.data() + states, 2 * states},
                    .decay = weight.data(),
                    .skip = weight.data(),
                    .out = {out.data(), channels},
                    .channels = channels,
                    .states = states,
                    .state_offset = channels * (taps - 1)});
  });
  fmt::print("recurrence {:2} x {:3} tokens: convolution {:8.1f} us ±{:2.0f} %, scan {:8.1f} us ±{:2.0f} %\n",
             sequences, tokens, convolution.median * 1e6, convolution.spread * 100, scan.median * 1e6,
             scan.spread * 100);
}

void bench_regions(worker_pool& workers) {
  const timing time = measure([&] { workers.parallel(workers.threads(), [](std::int64_t, int) {}); });
  fmt::print("an empty parallel region: {:.2f} us\n", time.median * 1e6);
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string set = count > 1 ? arguments[1] : std::string(name_of(preferred_instruction_set()));
  worker_pool workers(count > 2 ? std::optional(std::atoi(arguments[2])) : std::nullopt);
  if (count > 3) repetitions = std::max(3, std::atoi(arguments[3]));
  const execution run{&workers, instruction_set_named(set)};
  const std::string only = count > 4 ? arguments[4] : "";
  if (only == "kv") {
    bench_kv_kinds(run, 4096);
    return 0;
  }
  const peaks peak{bandwidth(workers), peak_of(run), peak_of({&workers, run.set, compute_type::int8})};
  fmt::print("{}, {} threads; memory {:.1f} GB/s, register tiles {:.0f} GFLOP/s, products of bytes {:.0f} GOP/s\n", set,
             workers.threads(), peak.bandwidth / 1e9, peak.exact / 1e9, peak.fast / 1e9);
  bench_regions(workers);
  if (only == "formats") {
    bench_formats(run, peak);
    return 0;
  }
  for (const model_shape& shape : shapes) bench_linear(run, shape, peak);
  if (only == "linear") return 0;
  for (const std::int64_t sequences : {1, 32})
    for (const std::int64_t length : {100, 1000, 8000})
      if (sequences * length <= 40000) bench_attention(run, sequences, length, 1);
  for (const std::int64_t length : {64, 512, 2048})
    bench_attention(run, 1, length, std::min<std::int64_t>(length, 512));
  for (const int length : {1024, 4096}) bench_kv_kinds(run, length);
  for (const std::int64_t sequences : {1, 8, 32}) bench_recurrence(run, sequences, 1);
  for (const std::int64_t tokens : {64, 512}) bench_recurrence(run, 1, tokens);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
