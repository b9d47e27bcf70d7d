#include "prompts.hpp"

#include "device_limits.hpp"
#include "engine_on_device.hpp"
#include "network/nn/device/device_model.hpp"
#include "statistics.hpp"
#include "throughput/job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

namespace cogen::bench {

namespace {

/// Seconds until the first tokens of all, and the median of a request.
struct reading {
  double whole;
  double first_token;
};

/// Prompts number `first` and on.
reading read(engine& instance, std::int64_t vocabulary, const cell& point, int first) {
  auto job = throughput::together(point.requests, point.context, 1, 1);
  job.first = first;
  std::vector<double> times;
  for (const auto& each : throughput::run(instance, vocabulary, job)) times.push_back(each.front().count());
  return {quantile(times, 1), quantile(times, 0.5)};
}

/// The part of prompts that cuDNN attended to, by layers and steps, since `start`; none where it is not counted.
std::optional<double> by_cudnn(const device::backend& where, const device::prompt_attention_counts& start) {
  const auto now = where.prompt_attention();
  const auto by_it = now.by_cudnn - start.by_cudnn;
  const auto attended = by_it + now.by_flash_attention - start.by_flash_attention;
  return attended > 0 ? std::optional(static_cast<double>(by_it) / static_cast<double>(attended)) : std::nullopt;
}

}  // namespace

void measure_prompts(const std::shared_ptr<const model>& lm, const cell& point, const settings& wanted,
                     double products) {
  const auto& where = *lm->on_device()->backend;
  const auto start = where.prompt_attention();
  auto instance = make_engine(lm, point.requests, point.context + 1, wanted);
  const auto vocabulary = lm->config().vocabulary;
  const auto cold = read(instance, vocabulary, point, 0);
  std::vector<reading> warm;
  for (int i = 1; i <= wanted.repeat; ++i) warm.push_back(read(instance, vocabulary, point, i * point.requests));
  const auto whole = over(warm, &reading::whole), first = over(warm, &reading::first_token);
  const double tokens = static_cast<double>(point.requests) * point.context;
  const auto operations = prompt_operations(*lm, point.requests, point.context);
  const auto cudnn = by_cudnn(where, start);
  const double utilization = operations ? *operations / whole.median / products : 0;
  if (wanted.json)
    fmt::print(
        "{{\"prompts\": {}, \"tokens\": {}, \"prompt_tokens_per_second\": {:.0f}, "
        "\"prompt_tokens_per_second_range\": [{:.0f}, {:.0f}], \"first_token_ms\": {:.2f}, "
        "\"first_token_ms_range\": [{:.2f}, {:.2f}], \"new_engine_ms\": {:.2f}, \"utilization\": {}, "
        "\"by_cudnn\": {}}}\n",
        point.requests, point.context, tokens / whole.median, tokens / whole.most, tokens / whole.least,
        1000 * first.median, 1000 * first.least, 1000 * first.most, 1000 * cold.whole,
        operations ? fmt::format("{:.3f}", utilization) : "null", cudnn ? fmt::format("{:.3f}", *cudnn) : "null");
  else
    fmt::print("{:>8}  {:>7}  {:>8.0f} ({:.0f}-{:.0f})  {:>8.1f} ({:.1f}-{:.1f})  {:>10.1f}  {}  {}\n", point.requests,
               point.context, tokens / whole.median, tokens / whole.most, tokens / whole.least, 1000 * first.median,
               1000 * first.least, 1000 * first.most, 1000 * cold.whole,
               operations ? fmt::format("{:.1f} %", 100 * utilization) : "-",
               cudnn ? fmt::format("{:.0f} %", 100 * *cudnn) : "-");
  std::fflush(stdout);
}

}  // namespace cogen::bench
