// What this machine can do at best with the threads and instructions that the engine uses: bytes read, from memory and
// from wherever those of a model's step are found again, and products of bytes, of float32 and of bf16, a second. Also
// how many bits the engine reads for a weight of each format.
#include "network/kernels/instruction_set.hpp"
#include "network/kernels/tile_layout.hpp"
#include "network/kernels/weight_arena.hpp"
#include "network/kernels/worker_pool.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace po = boost::program_options;

namespace {

using namespace cogen::kernels;

constexpr int rounds = 2000;  // of a task on registers: some ten microseconds
constexpr int tasks_per_thread = 400;
constexpr int sums = 12;  // more than latency times the instructions that begin in a cycle
constexpr std::int64_t chunk = 256 << 10;

/// What one instruction set offers; null where it has no such products.
struct probes {
  void (*read)(const std::byte* source);  // a chunk
  void (*int8)();
  int int8_lanes;  // products of one instruction, of which a task has rounds * sums
  void (*float32)();
  int float32_lanes;
  void (*bf16)();
  int bf16_lanes;
};

#if defined(__x86_64__)
#define COGEN_REGISTERS                                                                                               \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
      "xmm14"

// Registers 0 to 11 take the sums and 12 to 14 what is multiplied, all zero: `instruction` names a sum as \\sum.
#define COGEN_REPEAT(instruction)                                                                       \
  asm volatile("vzeroall" ::: COGEN_REGISTERS);                                                         \
  for (int round = 0; round < rounds; ++round)                                                          \
    asm volatile(".irp sum,0,1,2,3,4,5,6,7,8,9,10,11\n\t" instruction "\n\t.endr" ::: COGEN_REGISTERS); \
  asm volatile("vzeroupper" ::: COGEN_REGISTERS)

void read_avx2(const std::byte* source) {
  for (const std::byte* const end = source + chunk; source < end; source += 128)
    asm volatile(
        "prefetcht0 4096(%0)\n\tprefetcht0 4160(%0)\n\t"
        "vmovaps (%0), %%ymm0\n\tvmovaps 32(%0), %%ymm1\n\tvmovaps 64(%0), %%ymm2\n\tvmovaps 96(%0), %%ymm3" ::"r"(
            source)
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  asm volatile("vzeroupper" ::: COGEN_REGISTERS);
}

void read_avx512(const std::byte* source) {
  for (const std::byte* const end = source + chunk; source < end; source += 256)
    asm volatile(
        "prefetcht0 4096(%0)\n\tprefetcht0 4160(%0)\n\tprefetcht0 4224(%0)\n\tprefetcht0 4288(%0)\n\t"
        "vmovaps (%0), %%zmm0\n\tvmovaps 64(%0), %%zmm1\n\tvmovaps 128(%0), %%zmm2\n\tvmovaps 192(%0), %%zmm3" ::"r"(
            source)
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  asm volatile("vzeroupper" ::: COGEN_REGISTERS);
}

// Without VNNI the fast kernels sum products of 4-bit weights in 16 bits; those of 8 bits take more instructions.
void int8_avx2() { COGEN_REPEAT("vpmaddubsw %%ymm12, %%ymm13, %%ymm14\n\tvpaddw %%ymm14, %%ymm\\sum, %%ymm\\sum"); }
void int8_avx512() { COGEN_REPEAT("vpmaddubsw %%zmm12, %%zmm13, %%zmm14\n\tvpaddw %%zmm14, %%zmm\\sum, %%zmm\\sum"); }
void int8_vnni() { COGEN_REPEAT("vpdpbusd %%zmm12, %%zmm13, %%zmm\\sum"); }
void float32_avx2() { COGEN_REPEAT("vfmadd231ps %%ymm12, %%ymm13, %%ymm\\sum"); }
void float32_avx512() { COGEN_REPEAT("vfmadd231ps %%zmm12, %%zmm13, %%zmm\\sum"); }
void bf16_avx512() { COGEN_REPEAT("vdpbf16ps %%zmm12, %%zmm13, %%zmm\\sum"); }

// Also where the engine would rather not use them.
bool has_bf16() { return std::ranges::count(available_instruction_sets(), instruction_set::avx512_bf16) > 0; }
#endif

void read_portable(const std::byte* source) {
  std::uint64_t sum[8] = {};
  for (const std::byte* const end = source + chunk; source < end; source += sizeof sum) {
    std::uint64_t line[8];
    __builtin_prefetch(source + 4096);
    std::memcpy(line, source, sizeof line);
    for (int i = 0; i < 8; ++i) sum[i] ^= line[i];
  }
  asm volatile("" ::"r"(sum) : "memory");
}

// A sum takes part in its next product, or the compiler would multiply once.
template <class Number>
void multiply_portable() {
  using vector = Number __attribute__((vector_size(16)));
  Number factor{};
  asm volatile("" : : "r"(&factor) : "memory");
  vector sum[sums] = {};
  for (int round = 0; round < rounds; ++round)
    for (vector& each : sum) each = each * factor + factor;
  asm volatile("" ::"r"(sum) : "memory");
}

constexpr probes portable{read_portable, multiply_portable<std::uint16_t>, 8, multiply_portable<float>, 4, nullptr, 0};

probes probes_of(instruction_set set) {
#if defined(__x86_64__)
  switch (set) {
    case instruction_set::avx2:
      return {read_avx2, int8_avx2, 32, float32_avx2, 8, nullptr, 0};
    case instruction_set::avx512:
      return {read_avx512, int8_avx512, 64, float32_avx512, 16, nullptr, 0};
    case instruction_set::avx512_vnni:
    case instruction_set::avx512_bf16:
      return {read_avx512, int8_vnni, 64, float32_avx512, 16, has_bf16() ? bf16_avx512 : nullptr, 32};
    default:
      return portable;
  }
#else
  static_cast<void>(set);
  return portable;
#endif
}

template <class Measure>
double median(int repetitions, Measure measure) {
  std::vector<double> values;
  for (int i = 0; i < repetitions; ++i) values.push_back(measure());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct settings {
  std::optional<int> threads;
  int repetitions;
  int mebibytes;
  int again;
  bool json;
  bool weights;
};

/// A second.
struct limits {
  double bytes;  // of so many that few caches hold them
  double again;  // of fewer, over and over: caches may keep some
  double int8;
  double float32;
  double bf16;  // 0 without such products
};

class machine {
 public:
  explicit machine(const settings& wanted)
      : workers_(wanted.threads),
        chunks_((std::int64_t{wanted.mebibytes} << 20) / chunk * workers_.threads()),
        again_(std::clamp<std::int64_t>(std::int64_t{wanted.again} * 1000000 / chunk, 1, chunks_)) {
    memory_ = weight_arena().take(static_cast<std::size_t>(chunks_ * chunk));
    workers_.parallel(chunks_, [&](std::int64_t index, int) { std::memset(memory_.get() + index * chunk, 1, chunk); });
  }

  std::string_view set() const { return name_of(set_); }
  int threads() const { return workers_.threads(); }

  // Each is measured many times without anything between: what caches keep of bytes that are read again, as steps read
  // them, takes some passes to settle.
  limits measured(int repetitions) {
    const auto multiplied = [&](void (*task)(), int lanes) {
      return task ? median(repetitions, [&] { return multiply(task, lanes); }) : 0.0;
    };
    return {median(repetitions, [&] { return read(chunks_); }), median(3 * repetitions, [&] { return read(again_); }),
            multiplied(probes_.int8, probes_.int8_lanes), multiplied(probes_.float32, probes_.float32_lanes),
            multiplied(probes_.bf16, probes_.bf16_lanes)};
  }

 private:
  template <class Task>
  double seconds(std::int64_t tasks, Task task) {
    const auto start = std::chrono::steady_clock::now();
    workers_.parallel(tasks, [&](std::int64_t index, int) { task(index); });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  double read(std::int64_t chunks) {
    const double passed = seconds(chunks, [&](std::int64_t index) { probes_.read(memory_.get() + index * chunk); });
    return static_cast<double>(chunks * chunk) / passed;
  }

  double multiply(void (*task)(), int lanes) {
    const std::int64_t tasks = std::int64_t{tasks_per_thread} * workers_.threads();
    const double passed = seconds(tasks, [task](std::int64_t) { task(); });
    return static_cast<double>(tasks * rounds * sums) * lanes / passed;
  }

  instruction_set set_ = preferred_instruction_set();
  probes probes_ = probes_of(set_);
  worker_pool workers_;
  std::int64_t chunks_;
  std::int64_t again_;  // the first so many of them
  std::shared_ptr<std::byte[]> memory_;
};

void print(const settings& wanted, const machine& host, const limits& found) {
  const char* shown =
      "{}, {} threads: {:.1f} GB/s read, {:.1f} of {} MB again; products a second, in thousand millions: "
      "{:.0f} of bytes, {:.0f} of float32, {:.0f} of bf16\n";
  const char* json =
      "{{\"instruction_set\": \"{}\", \"threads\": {}, \"gigabytes\": {:.2f}, \"gigabytes_again\": {:.2f}, "
      "\"again_megabytes\": {}, \"int8\": {:.1f}, \"float32\": {:.1f}, \"bf16\": {:.1f}}}\n";
  fmt::print(fmt::runtime(wanted.json ? json : shown), host.set(), host.threads(), found.bytes / 1e9, found.again / 1e9,
             wanted.again, found.int8 / 1e9, found.float32 / 1e9, found.bf16 / 1e9);
}

double bits_of(cogen::element_type format) {
  constexpr std::int64_t inputs = quantized_block;
  return 8.0 * static_cast<double>(tile_bytes(storage_of(format), inputs)) / (tile_lanes * inputs);
}

void print_weight_bits() {
  using enum cogen::element_type;
  std::vector<std::string> formats;
  for (const cogen::element_type each :
       {f32,   f16,   bf16,  q4_0,  q4_1,   q5_0,  q5_1,    q8_0,    iq4_nl,      mxfp4,      q2_k,
        q3_k,  q4_k,  q5_k,  q6_k,  iq4_xs, iq1_s, iq1_m,   iq2_xxs, iq2_xs,      iq2_s,      iq3_xxs,
        iq3_s, tq1_0, tq2_0, nvfp4, q1_0,   q2_0,  q4_zero, q8_zero, scaled_e4m3, scaled_e2m1})
    formats.push_back(fmt::format("\"{}\": {}", to_string(each), bits_of(each)));
  fmt::print("{{{}}}\n", fmt::join(formats, ", "));
}

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options(
      "Measures what this machine can do at best, in about two seconds: memory read, and multiply-adds on registers.\n"
      "COGEN_INSTRUCTION_SET chooses the instructions, as it does for the engine.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("threads", po::value<int>()->notifier([&](int threads) { wanted.threads = threads; }),
      "that work; all if not given");
  add("repetitions", po::value(&wanted.repetitions)->default_value(31), "of which the median is shown");
  add("mebibytes", po::value(&wanted.mebibytes)->default_value(128), "memory that is read, for each thread");
  add("again", po::value(&wanted.again)->default_value(100), "megabytes that are read over and over, as by steps");
  add("json", po::bool_switch(&wanted.json), "one JSON object, in thousand millions a second");
  add("weights", po::bool_switch(&wanted.weights),
      "measures nothing: one JSON object, the bits of a weight of each format as the engine keeps it");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << options, std::nullopt;
  if (wanted.repetitions < 1 || wanted.mebibytes < 1 || wanted.again < 1)
    throw std::invalid_argument("--repetitions, --mebibytes and --again must be at least 1");
  return wanted;
}

void run(const settings& wanted) {
  if (wanted.weights) return print_weight_bits();
  machine host(wanted);
  host.measured(1);  // wakes the threads, and the processors from whatever clock they rest at
  print(wanted, host, host.measured(wanted.repetitions));
}

}  // namespace

int main(int argc, char** argv) try {
  if (const auto wanted = parse(argc, argv)) run(*wanted);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "limits: {}\n", e.what());
  return 1;
}
