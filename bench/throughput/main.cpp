// Tokens per second by number of concurrent requests.
#include "job.hpp"
#include "serve.hpp"
#include "settings.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/metrics.hpp>
#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <sys/resource.h>

namespace throughput {
namespace {

struct measurement {
  int requests;
  double decode_tokens_per_second;   // while every request decodes: tokens after the last request's first one
  double prefill_tokens_per_second;  // all prompt tokens by the time until the last request's first token
  double tokens_per_second;          // all new tokens by the whole time, prompts included
  double time_to_first_token_ms;     // median
  double mean_batch;
};

measurement measure(const std::shared_ptr<const cogen::model>& model, int requests, const settings& wanted,
                    const std::string& trace, const cogen::sampling_params& sampling = {}, bool chats = false) {
  cogen::engine_options options = wanted.engine;
  options.batching.slots = requests;
  options.limits.max_sequence_length = wanted.prompt_tokens + wanted.new_tokens;
  if (model->rank() > 0) return cogen::run_worker(model, options), measurement{};
  if (!trace.empty()) options.events = std::make_shared<cogen::chrome_trace>(trace);
  cogen::engine engine(model, options);
  auto job = together(requests, wanted.prompt_tokens, wanted.new_tokens, wanted.max_buffered_tokens);
  job.sampling = sampling;
  job.chats = chats;
  const auto seen = run(engine, model->config().vocabulary, job);

  std::vector<double> first;
  seconds last_first{}, end{};
  for (const auto& each : seen) {
    first.push_back(each.front().count() * 1000);
    last_first = std::max(last_first, each.front());
    end = std::max(end, each.back());
  }
  std::sort(first.begin(), first.end());
  double decoded = 0;
  for (const auto& each : seen)
    decoded +=
        static_cast<double>(std::count_if(each.begin(), each.end(), [&](auto time) { return time > last_first; }));
  const auto stats = engine.stats();
  return {requests,
          decoded / std::max(1e-9, (end - last_first).count()),
          static_cast<double>(requests) * wanted.prompt_tokens / std::max(1e-9, last_first.count()),
          static_cast<double>(requests) * wanted.new_tokens / std::max(1e-9, end.count()),
          first[first.size() / 2],
          static_cast<double>(stats.rows) / static_cast<double>(stats.steps)};
}

measurement median(std::vector<measurement> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const auto& a, const auto& b) { return a.decode_tokens_per_second < b.decode_tokens_per_second; });
  return runs[runs.size() / 2];
}

double peak_memory_mib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

void print(const measurement& result, const cogen::model& model, bool json) {
  if (json)
    fmt::print(
        "{{\"requests\": {}, \"decode_tokens_per_second\": {:.1f}, \"prefill_tokens_per_second\": {:.1f}, "
        "\"tokens_per_second\": {:.1f}, \"time_to_first_token_ms\": {:.1f}, \"mean_batch\": {:.2f}, "
        "\"peak_memory_mib\": {:.0f}, \"bytes_per_step\": {}, \"weight_type\": \"{}\"}}\n",
        result.requests, result.decode_tokens_per_second, result.prefill_tokens_per_second, result.tokens_per_second,
        result.time_to_first_token_ms, result.mean_batch, peak_memory_mib(), model.weight_bytes(), model.weight_type());
  else
    fmt::print("{:>8}  {:>12.1f}  {:>13.1f}  {:>11.1f}  {:>16.1f}  {:>10.2f}  {:>8.0f}\n", result.requests,
               result.decode_tokens_per_second, result.prefill_tokens_per_second, result.tokens_per_second,
               result.time_to_first_token_ms, result.mean_batch, peak_memory_mib());
  std::fflush(stdout);
}

/// Loads the model, and warms the file cache, the pages and the threads.
std::shared_ptr<const cogen::model> warm_model(const settings& wanted) {
  cogen::load_options loading;
  loading.threads = wanted.engine.threads;
  loading.parallel = wanted.parallel;
  auto model = cogen::load_model(wanted.model, loading);
  measure(model, 1, wanted, "");
  return model;
}

void compare_sampling(const settings& wanted) {
  const cogen::sampling_params sampled{
      .temperature = 0.8, .top_p = 0.95, .repetition_penalty = 1.1, .presence_penalty = 0.5, .seed = 1};
  const auto model = warm_model(wanted);
  if (model->rank() == 0) fmt::print("requests  greedy tok/s  sampled tok/s  sampled/greedy\n");
  for (const int requests : wanted.requests) {
    std::vector<double> greedy, other, ratios;
    for (int i = 0; i < wanted.repeat; ++i) {
      greedy.push_back(measure(model, requests, wanted, "", {}, wanted.chats).decode_tokens_per_second);
      other.push_back(measure(model, requests, wanted, "", sampled, wanted.chats).decode_tokens_per_second);
      ratios.push_back(other.back() / greedy.back());
    }
    for (auto* const each : {&greedy, &other, &ratios}) std::sort(each->begin(), each->end());
    const auto middle = ratios.size() / 2;
    if (model->rank() > 0) continue;
    fmt::print("{:>8}  {:>12.1f}  {:>13.1f}  {:.3f} ({:.3f}-{:.3f})\n", requests, greedy[middle], other[middle],
               ratios[middle], ratios.front(), ratios.back());
    std::fflush(stdout);
  }
}

void compare_numbers_of_requests(const settings& wanted) {
  const auto model = warm_model(wanted);
  if (!wanted.json && model->rank() == 0)
    fmt::print("requests  decode tok/s  prefill tok/s  whole tok/s  first token (ms)  mean batch  peak MiB\n");
  for (const int requests : wanted.requests) {
    std::vector<measurement> runs;
    for (int i = 1; i < wanted.repeat; ++i) runs.push_back(measure(model, requests, wanted, ""));
    runs.push_back(measure(model, requests, wanted, wanted.trace));
    if (model->rank() == 0) print(median(std::move(runs)), *model, wanted.json);
  }
}

}  // namespace
}  // namespace throughput

int main(int argc, char** argv) try {
  const auto wanted = throughput::parse(argc, argv);
  if (wanted && wanted->serve)
    throughput::serve(*wanted);
  else if (wanted && wanted->compare_sampling)
    throughput::compare_sampling(*wanted);
  else if (wanted)
    throughput::compare_numbers_of_requests(*wanted);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "throughput: {}\n", e.what());
  return 1;
}
