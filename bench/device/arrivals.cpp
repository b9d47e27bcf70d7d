#include "arrivals.hpp"

#include "engine_on_device.hpp"
#include "statistics.hpp"
#include "throughput/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

namespace cogen::bench {

namespace {

struct waits {
  double first_median, first_99;  // milliseconds
  double gap_median, gap_99;
  double tokens;   // a second
  double goodput;  // requests a second
};

/// By the inverse distribution function, so that any standard library has the same ones.
std::vector<throughput::seconds> poisson(int requests, double rate, int seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  std::vector<throughput::seconds> times;
  double now = 0;
  for (int i = 0; i < requests; ++i) {
    times.emplace_back(now);
    now -= std::log((random() + 1.0) / 0x1p32) / rate;
  }
  return times;
}

waits waits_of(const std::vector<throughput::seconds>& arrivals, const std::vector<throughput::observation>& seen,
               const service_level& limits) {
  std::vector<double> first, gaps;
  double end = 0;
  int good = 0;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto& times = seen[i];
    first.push_back(1000 * (times.front() - arrivals[i]).count());
    for (std::size_t j = 1; j < times.size(); ++j) gaps.push_back(1000 * (times[j] - times[j - 1]).count());
    const double mean =
        1000 * (times.back() - times.front()).count() / static_cast<double>(std::max<std::size_t>(times.size() - 1, 1));
    good += first.back() <= limits.first_token_ms && mean <= limits.token_ms;
    tokens += times.size();
    end = std::max(end, times.back().count());
  }
  return {quantile(first, 0.5),
          quantile(first, 0.99),
          quantile(gaps, 0.5),
          quantile(gaps, 0.99),
          static_cast<double>(tokens) / end,
          good / end};
}

}  // namespace

void measure_arrivals(const std::shared_ptr<const model>& lm, double rate, const settings& wanted) {
  const auto [requests, context] = wanted.arriving;
  auto instance = make_engine(lm, wanted.slots, context + wanted.new_tokens, wanted);
  const auto vocabulary = lm->config().vocabulary;
  auto job = throughput::together(1, context, wanted.new_tokens, wanted.new_tokens);
  throughput::run(instance, vocabulary, job);  // warms it up
  std::vector<waits> runs;
  for (int i = 0; i < wanted.repeat; ++i) {
    job.first = 1 + i * requests;
    job.arrivals = poisson(requests, rate, i);
    job.sampling = sampling_of(wanted, i);
    runs.push_back(waits_of(job.arrivals, throughput::run(instance, vocabulary, job), wanted.limits));
  }
  const auto shown = [&](double waits::*figure, int digits) {
    const auto [median, least, most] = over(runs, figure);
    return wanted.json ? fmt::format("{:.{}f}, {:.{}f}, {:.{}f}", median, digits, least, digits, most, digits)
                       : fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", median, digits, least, digits, most, digits);
  };
  if (wanted.json)
    fmt::print(
        "{{\"arrivals_per_second\": {}, \"requests\": {}, \"tokens\": {}, \"slots\": {}, \"first_token_ms\": "
        "[{}], \"first_token_99_ms\": [{}], \"gap_ms\": [{}], \"gap_99_ms\": [{}], \"tokens_per_second\": [{}], "
        "\"goodput\": [{}]}}\n",
        rate, requests, context, wanted.slots, shown(&waits::first_median, 2), shown(&waits::first_99, 2),
        shown(&waits::gap_median, 3), shown(&waits::gap_99, 3), shown(&waits::tokens, 1), shown(&waits::goodput, 3));
  else
    fmt::print("{:>10}  {:>24}  {:>24}  {:>22}  {:>24}  {:>24}  {:>20}\n", rate, shown(&waits::first_median, 1),
               shown(&waits::first_99, 1), shown(&waits::gap_median, 2), shown(&waits::gap_99, 2),
               shown(&waits::tokens, 0), shown(&waits::goodput, 2));
  std::fflush(stdout);
}

}  // namespace cogen::bench
