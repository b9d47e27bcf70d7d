// How long one launch takes that samples the tokens of a batch on the device: median and spread over replays of a
// graph.
#include "../tests/sampling/cuda/device_array.hpp"
#include "sampling/sample_cuda.hpp"
#include "sampling/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace {

using cogen::test::check;
using cogen::test::device_array;

class stopwatch {
 public:
  stopwatch() {
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  /// Microseconds that the device takes for what `enqueue` enqueues.
  template <typename Enqueue>
  float time(cudaStream_t stream, Enqueue enqueue) {
    check(cudaEventRecord(begin_, stream));
    enqueue();
    check(cudaEventRecord(end_, stream));
    check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1000 * milliseconds;
  }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Normally distributed, with a few far ahead, about as a language model's are.
std::vector<float> some_logits(std::size_t rows, std::size_t vocabulary) {
  std::mt19937 random(1);
  std::normal_distribution<float> body(0, 2);
  std::vector<float> logits(rows * vocabulary);
  for (auto& each : logits) each = body(random);
  for (std::size_t i = 0; i < rows; ++i)
    for (int ahead = 0; ahead < 20; ++ahead) logits[i * vocabulary + random() % vocabulary] += 10;
  return logits;
}

struct timing {
  float first, median, last;  // the 5th and the 95th of a hundred
};

timing measure(const cogen::sampling_params& params, int rows, int vocabulary) {
  const cogen::sampler chooses(params, vocabulary);
  cogen::token_history history;
  history.append_given(std::vector{1, 2, 3});
  std::vector<cogen::sampling_row> sampling(static_cast<std::size_t>(rows));
  cogen::sampling_lists lists;
  for (int i = 0; i < rows; ++i) {
    auto& row = sampling[static_cast<std::size_t>(i)];
    row = chooses.row_after(history, false, {}, lists);
    row.slot = i;
    row.key.seed = static_cast<std::uint64_t>(i);
  }
  const auto count = static_cast<std::size_t>(rows);
  const device_array<float> logits(some_logits(count, static_cast<std::size_t>(vocabulary)));
  const device_array<cogen::sampling_row> on_device(sampling);
  const device_array<cogen::token_bias> biases(lists.biases);
  const device_array<cogen::token_count> counts(lists.counts);
  const device_array<std::uint64_t> masks(lists.masks);
  const device_array<cogen::token> last(count), tokens(count);
  const device_array<cogen::sampling_status> statuses(count);
  const device_array<float> logprobs(count), raw_biased(lists.biases.size()), raw_counted(lists.counts.size());
  const device_array<cogen::token_logprob> top(lists.top_logprobs);
  const cogen::test::device_stream stream;
  const cogen::test::device_graph graph(stream, [&] {
    check(cogen::cuda::sample({.logits = logits.data(),
                               .stride = vocabulary,
                               .vocabulary = vocabulary,
                               .rows = rows,
                               .sampling = on_device.data(),
                               .biases = biases.data(),
                               .counts = counts.data(),
                               .masks = masks.data(),
                               .raw_biased = raw_biased.data(),
                               .raw_counted = raw_counted.data(),
                               .last_tokens = last.data(),
                               .tokens = tokens.data(),
                               .statuses = statuses.data(),
                               .logprobs = logprobs.data(),
                               .top = top.data()},
                              stream));
  });
  stopwatch watch;
  std::vector<float> times;
  for (int i = 0; i < 220; ++i) {
    const float time = watch.time(stream, [&] { graph.launch(stream); });
    if (i >= 20) times.push_back(time);
  }
  std::ranges::sort(times);
  return {times[times.size() / 20], times[times.size() / 2], times[times.size() * 19 / 20]};
}

}  // namespace

int main() try {
  const std::vector<std::pair<const char*, cogen::sampling_params>> ways{
      {"greedy", {}},
      {"temperature 1", {.temperature = 1}},
      {"top_k 50", {.temperature = 1, .top_k = 50}},
      {"top_p 0.9", {.temperature = 1, .top_p = 0.9}},
      {"top_p 0.999", {.temperature = 1, .top_p = 0.999}},
      {"min_p 0.05", {.temperature = 1, .min_p = 0.05}},
      {"top_k 50, top_p 0.9", {.temperature = 1, .top_k = 50, .top_p = 0.9}},
      {"top_k 2000, top_p 0.9", {.temperature = 1, .top_k = 2000, .top_p = 0.9}},
      {"logprobs 20", {.logprobs = 20}},
      {"logprobs 20, processed", {.temperature = 1, .logprobs = 20, .logprobs_mode = cogen::logprobs_mode::processed}}};
  fmt::print("{:<24}{:>6}{:>12}{:>8}{:>8}{:>8}\n", "sampling", "rows", "vocabulary", "5 %", "median", "95 % us");
  for (const int vocabulary : {49152, 128256})
    for (const int rows : {1, 64})
      for (const auto& [name, params] : ways) {
        const auto [first, median, last] = measure(params, rows, vocabulary);
        fmt::print("{:<24}{:>6}{:>12}{:>8.1f}{:>8.1f}{:>8.1f}\n", name, rows, vocabulary, first, median, last);
      }
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
