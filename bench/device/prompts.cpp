#include "prompts.hpp"

#include "device_limits.hpp"
#include "engine_on_device.hpp"
#include "network/nn/device/network_on_device.hpp"
#include "statistics.hpp"
#include "throughput/job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

namespace cogen::bench {

namespace {

/// Seconds until the first tokens of all, and the median of a request.
struct reading {
  double all;
  double first_token;
};

/// Prompts number `first` and on.
reading read(engine& by, std::int64_t vocabulary, const cell& what, int first) {
  auto job = throughput::together(what.requests, what.context, 1, 1);
  job.first = first;
  std::vector<double> times;
  for (const auto& each : throughput::run(by, vocabulary, job)) times.push_back(each.front().count());
  return {quantile(times, 1), quantile(times, 0.5)};
}

/// The part of prompts that cuDNN attended to, by layers and steps, since `before`; none where it is not counted.
std::optional<double> by_cudnn(const device::backend& where, const device::prompt_attention_counts& before) {
  const auto now = where.prompt_attention();
  const auto by_it = now.by_cudnn - before.by_cudnn;
  const auto all = by_it + now.by_flash_attention - before.by_flash_attention;
  return all > 0 ? std::optional(static_cast<double>(by_it) / static_cast<double>(all)) : std::nullopt;
}

}  // namespace

void measure_prompts(const std::shared_ptr<const model>& of, const cell& what, const settings& wanted,
                     double products) {
  const auto& where = *of->on_device()->backend;
  const auto before = where.prompt_attention();
  auto by = make_engine(of, what.requests, what.context + 1, wanted);
  const auto vocabulary = of->config().vocabulary;
  const auto cold = read(by, vocabulary, what, 0);
  std::vector<reading> warm;
  for (int i = 1; i <= wanted.repeat; ++i) warm.push_back(read(by, vocabulary, what, i * what.requests));
  const auto all = over(warm, &reading::all), first = over(warm, &reading::first_token);
  const double tokens = static_cast<double>(what.requests) * what.context;
  const auto operations = prompt_operations(*of, what.requests, what.context);
  const auto cudnn = by_cudnn(where, before);
  const double utilization = operations ? *operations / all.median / products : 0;
  if (wanted.json)
    fmt::print(
        "{{\"prompts\": {}, \"tokens\": {}, \"prompt_tokens_per_second\": {:.0f}, "
        "\"prompt_tokens_per_second_range\": [{:.0f}, {:.0f}], \"first_token_ms\": {:.2f}, "
        "\"first_token_ms_range\": [{:.2f}, {:.2f}], \"new_engine_ms\": {:.2f}, \"utilization\": {}, "
        "\"by_cudnn\": {}}}\n",
        what.requests, what.context, tokens / all.median, tokens / all.most, tokens / all.least, 1000 * first.median,
        1000 * first.least, 1000 * first.most, 1000 * cold.all,
        operations ? fmt::format("{:.3f}", utilization) : "null", cudnn ? fmt::format("{:.3f}", *cudnn) : "null");
  else
    fmt::print("{:>8}  {:>7}  {:>8.0f} ({:.0f}-{:.0f})  {:>8.1f} ({:.1f}-{:.1f})  {:>10.1f}  {}  {}\n", what.requests,
               what.context, tokens / all.median, tokens / all.most, tokens / all.least, 1000 * first.median,
               1000 * first.least, 1000 * first.most, 1000 * cold.all,
               operations ? fmt::format("{:.1f} %", 100 * utilization) : "-",
               cudnn ? fmt::format("{:.0f} %", 100 * *cudnn) : "-");
  std::fflush(stdout);
}

}  // namespace cogen::bench
