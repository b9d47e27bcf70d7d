// Speed of recurrent mixers as they read a prompt, beside the machine's multiply-adds and the products of their layer;
// and of latent attention's products, all heads together and each alone.
// mixers [set] [threads] [repetitions] [tokens]...

#include "network/kernels/causal_convolution.hpp"
#include "network/kernels/execution.hpp"
#include "network/kernels/linear.hpp"
#include "network/kernels/linear_attention.hpp"
#include "network/kernels/selective_scan.hpp"
#include "network/kernels/tiled_matrix.hpp"
#include "timing.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace cogen;
using namespace cogen::kernels;

constexpr std::int64_t taps = 4;

struct layer_shape {
  const char* name;
  std::int64_t hidden, heads, key_heads, key_width, value_width;
  bool delta = false;

  std::int64_t keys() const { return key_heads * key_width; }
  std::int64_t values() const { return heads * value_width; }
  std::int64_t channels() const { return values() + 2 * keys(); }
  std::int64_t state() const { return (taps - 1) * channels(); }
  // Of the form that goes from token to token: each element decays, takes in, and is read out; the delta rule reads it
  // once more before.
  double operations() const { return (delta ? 4.0 : 3.0) * static_cast<double>(values() * key_width); }
};

constexpr layer_shape shapes[] = {
    {"Gated DeltaNet, Qwen3-Next", 2048, 32, 16, 128, 128, true},
    {"Mamba-2, Granite 4.0 H Tiny", 1536, 48, 1, 128, 64},
    {"Mamba-2, Nemotron 3 Nano", 2688, 64, 8, 128, 64},
    {"Mamba-2, Nemotron-H 8B", 4096, 128, 8, 128, 64},
};

std::vector<float> floats(std::int64_t count, float value = 0.1F) {
  return std::vector<float>(static_cast<std::size_t>(count), value);
}

tiled_matrix matrix(std::int64_t outputs, std::int64_t inputs, worker_pool& workers) {
  const auto bytes = static_cast<std::size_t>(row_bytes(cogen::element_type::bf16, inputs) * tile_lanes);
  std::vector<std::byte> row(bytes, std::byte{0x3c});
  const weight_source source{cogen::element_type::bf16, outputs,
                             [&](std::int64_t, std::int64_t, std::byte*) { return row.data(); }};
  return tiled_matrix({&source, 1}, inputs, workers, nullptr);
}

// Multiply-adds of one lane that a thread does in a second, in products whose operands stay in the first-level cache.
class multiply_adds {
 public:
  explicit multiply_adds(const execution& run) : run_{&worker_, run.set} {}

  double operator()() {
    constexpr int rounds = 40;
    const double time = seconds([&] {
      for (int round = 0; round < rounds; ++round)
        linear(run_, weights_, {.x = {x_.data(), 64}, .y = {y_.data(), 64}, .rows = 96});
    });
    return rounds * 96.0 * 64 * 64 / time;
  }

 private:
  worker_pool worker_{1};
  execution run_;
  tiled_matrix weights_ = matrix(64, 64, worker_);
  std::vector<float> x_ = floats(96 * 64), y_ = floats(96 * 64);
};

// One layer over one sequence's tokens: the products into and out of the mixer, its convolution and its states.
class layer {
 public:
  layer(const execution& run, const layer_shape& shape, std::int64_t tokens)
      : run_(run),
        shape_(shape),
        tokens_(tokens),
        in_(matrix(shape.channels() + shape.values(), shape.hidden, *run.workers)),
        out_(matrix(shape.hidden, shape.values(), *run.workers)) {
    row_.count = tokens;
    row_.initial_state = row_.final_state = state_.data();
  }

  void project_in() { multiply(in_, hidden_, shape_.hidden, mixed_, width()); }
  void project_out() { multiply(out_, mixed_, width(), hidden_, shape_.hidden); }

  void convolve() {
    causal_convolution(run_, {&row_, 1},
                       {.x = {mixed_.data(), width()},
                        .weight = weight_.data(),
                        .out = {convolved_.data(), shape_.channels()},
                        .channels = shape_.channels(),
                        .taps = taps});
  }

  void attend() {
    const float* keys = convolved_.data() + shape_.values();
    linear_attention(run_, {&row_, 1},
                     {.q = {keys + shape_.keys(), shape_.channels()},
                      .k = {keys, shape_.channels()},
                      .v = {convolved_.data(), shape_.channels()},
                      .decay = {gates_.data(), shape_.heads},
                      .rate = {gates_.data(), shape_.heads},
                      .out = {attended_.data(), shape_.channels()},
                      .heads = shape_.heads,
                      .key_heads = shape_.key_heads,
                      .key_width = shape_.key_width,
                      .value_width = shape_.value_width,
                      .delta = shape_.delta,
                      .state_offset = shape_.state()});
  }

 private:
  std::int64_t width() const { return shape_.channels() + shape_.values(); }

  void multiply(const tiled_matrix& weights, const std::vector<float>& x, std::int64_t x_stride, std::vector<float>& y,
                std::int64_t y_stride) const {
    linear(run_, weights, {.x = {x.data(), x_stride}, .y = {y.data(), y_stride}, .rows = tokens_});
  }

  const execution& run_;
  const layer_shape& shape_;
  std::int64_t tokens_;
  tiled_matrix in_, out_;
  std::vector<float> hidden_ = floats(tokens_ * shape_.hidden), mixed_ = floats(tokens_ * width());
  std::vector<float> convolved_ = floats(tokens_ * shape_.channels()), attended_ = convolved_;
  std::vector<float> weight_ = floats(taps * shape_.channels()), gates_ = floats(tokens_ * shape_.heads, 0.5F);
  std::vector<float> state_ = floats(shape_.state() + shape_.values() * shape_.key_width);
  token_rows row_;
};

// Rounds of everything in turn, so that what else runs on the machine slows all of it.
void bench(const execution& run, const layer_shape& shape, std::int64_t tokens) {
  layer subject(run, shape, tokens);
  multiply_adds limit(run);
  std::vector<double> rates, shares, parts, convolutions;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    const double fastest = limit() * run.workers->threads();
    const double attend = seconds([&] { subject.attend(); });
    const double convolve = seconds([&] { subject.convolve(); });
    const double whole = attend + convolve + seconds([&] { subject.project_in(), subject.project_out(); });
    if (repetition == 0) continue;
    rates.push_back(static_cast<double>(tokens) / attend);
    shares.push_back(shape.operations() * static_cast<double>(tokens) / attend / fastest);
    parts.push_back(attend / whole);
    convolutions.push_back(convolve / whole);
  }
  const auto rate = summary(rates), share = summary(shares), part = summary(parts);
  fmt::print(
      "{:28} {:5} tokens: {:8.0f} a second ±{:2.0f} %, {:4.1f} % ±{:2.0f} % of the multiply-adds, {:4.1f} % of "
      "its layer (convolution {:4.1f} %)\n",
      shape.name, tokens, rate.median, rate.spread * 100, share.median * 100, share.spread * 100, part.median * 100,
      summary(convolutions).median * 100);
}

// What absorbs or expands the heads of DeepSeek-V2-Lite.
class head_products {
 public:
  head_products(const execution& run, std::int64_t outputs, std::int64_t inputs, std::int64_t rows) : run_(run) {
    x_ = floats(rows * heads * inputs), y_ = floats(rows * heads * outputs);
    for (std::int64_t head = 0; head < heads; ++head) weights_.push_back(matrix(outputs, inputs, *run.workers));
    for (std::int64_t head = 0; head < heads; ++head)
      products_.push_back({&weights_[static_cast<std::size_t>(head)],
                           {.x = {x_.data() + head * inputs, heads * inputs},
                            .y = {y_.data() + head * outputs, heads * outputs},
                            .rows = rows}});
  }

  void alone() const {
    for (const auto& [weights, operands] : products_) linear(run_, *weights, operands);
  }
  void together() const { linear(run_, products_); }

 private:
  static constexpr std::int64_t heads = 16;
  const execution& run_;
  std::vector<tiled_matrix> weights_;
  std::vector<float> x_, y_;
  std::vector<linear_product> products_;
};

void bench_heads(const execution& run, const char* name, std::int64_t outputs, std::int64_t inputs, std::int64_t rows) {
  const head_products heads(run, outputs, inputs, rows);
  std::vector<double> alone, together, ratios;
  const int inner = rows < 100 ? 50 : 3;
  const auto time_of = [&](auto&& work) {
    return seconds([&] {
             for (int round = 0; round < inner; ++round) work();
           }) /
           inner;
  };
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    if (repetition % 2) alone.push_back(time_of([&] { heads.alone(); }));
    together.push_back(time_of([&] { heads.together(); }));
    if (repetition % 2 == 0) alone.push_back(time_of([&] { heads.alone(); }));
    ratios.push_back(together.back() / alone.back());
  }
  const auto ratio = summary(ratios);
  fmt::print("{} 16 heads, {:3} rows: each alone {:7.1f} us, together {:7.1f} us, {:.2f} ±{:2.0f} % of that\n", name,
             rows, summary(alone).median * 1e6, summary(together).median * 1e6, ratio.median, ratio.spread * 100);
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string set = count > 1 ? arguments[1] : std::string(name_of(preferred_instruction_set()));
  worker_pool workers(count > 2 ? std::optional(std::atoi(arguments[2])) : std::nullopt);
  if (count > 3) repetitions = std::max(3, std::atoi(arguments[3]));
  const execution run{&workers, instruction_set_named(set)};
  std::vector<std::int64_t> lengths;
  for (int index = 4; index < count; ++index) lengths.push_back(std::atoll(arguments[index]));
  if (lengths.empty()) lengths = {1, 512, 2048};
  for (const auto& shape : shapes)
    for (const auto tokens : lengths) bench(run, shape, tokens);
  for (const std::int64_t rows : {1, 16, 512}) {
    bench_heads(run, "absorb", 512, 128, rows);
    bench_heads(run, "expand", 128, 512, rows);
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
