// How fast an engine generates on a device: requests that decode together, prompts, and requests that arrive at random,
// beside what the device's memory and products could give.
#include "arrivals.hpp"
#include "decoding.hpp"
#include "device_limits.hpp"
#include "library_backend.hpp"
#include "network/nn/device/device_model.hpp"
#include "prompts.hpp"
#include "random_model.hpp"
#include "settings.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>

namespace cogen::bench {

namespace {

using seconds = std::chrono::duration<double>;

/// A heading of a table; nothing before lines of JSON.
void head(const settings& wanted, const char* columns) {
  if (!wanted.json) fmt::print("\n{}\n", columns);
}

/// Where what `measure` takes does not fit the device, says so instead.
void unless_it_does_not_fit(const settings& wanted, const cell& point, const std::function<void()>& measure) try {
  measure();
} catch (const std::invalid_argument& error) {
  if (wanted.json)
    fmt::print("{{\"requests\": {}, \"context\": {}, \"why_not\": \"{}\"}}\n", point.requests, point.context,
               error.what());
  else
    fmt::print("{:>8}  {:>7}  {}\n", point.requests, point.context, error.what());
  std::fflush(stdout);
}

void describe(const settings& wanted, const device::backend& where, const model& lm, double bandwidth, double products,
              double load_seconds) {
  if (wanted.json)
    fmt::print(
        "{{\"device\": \"{}\", \"copy_gb_per_second\": {:.0f}, \"product_tflops\": {:.3g}, "
        "\"weight_bytes\": {}, \"load_seconds\": {:.2f}}}\n",
        where.description(), bandwidth / 1e9, products / 1e12, lm.weight_bytes(), load_seconds);
  else
    fmt::print("{}, copies {:.0f} GB/s, multiplies {:.3g} TFLOP/s; {} of {:.2f} GB\n", where.description(),
               bandwidth / 1e9, products / 1e12, wanted.model.empty() ? wanted.shape : wanted.model,
               static_cast<double>(lm.weight_bytes()) / 1e9);
  std::fflush(stdout);
}

void run(const settings& wanted) {
  auto where = device::backend_named(wanted.device, {.cudnn = !wanted.flash && !wanted.library});
  if (wanted.library) where = with_library_operators(where);
  const double bandwidth = copy_bandwidth(*where), products = product_rate(*where);
  const auto begin = std::chrono::steady_clock::now();
  const auto lm = wanted.model.empty()
                      ? random_model(where, wanted.shape, wanted.weights)
                      : load_model(wanted.model, {.device = wanted.device, .device_weights = wanted.weights});
  describe(wanted, *where, *lm, bandwidth, products, seconds(std::chrono::steady_clock::now() - begin).count());
  if (!wanted.prompts.empty())
    head(wanted, " prompts   tokens  tokens/s (range)  first token ms (range)  new engine ms  utilization  by cuDNN");
  for (const auto& each : wanted.prompts)
    unless_it_does_not_fit(wanted, each, [&] { measure_prompts(lm, each, wanted, products); });
  if (!wanted.cells.empty())
    head(wanted,
         "requests  context  decode tok/s (range)  step ms  alone ms  share of bandwidth  prefill tok/s  first token "
         "ms  cache GB");
  for (const auto& each : wanted.cells)
    unless_it_does_not_fit(wanted, each, [&] { measure_decoding(lm, each, wanted, bandwidth); });
  if (!wanted.arrival_rates.empty())
    head(wanted,
         "arrivals/s            first token ms          first token 99 %                  gap ms"
         "                  gap 99 %                  tokens/s             goodput/s");
  for (const double rate : wanted.arrival_rates)
    unless_it_does_not_fit(wanted, wanted.arriving, [&] { measure_arrivals(lm, rate, wanted); });
  for (const auto& why : lm->on_device()->backend->prompt_attention().refusals)
    fmt::print(stderr, "device: cuDNN has no plan: {}\n", why);
}

}  // namespace

}  // namespace cogen::bench

int main(int argc, char** argv) try {
  if (const auto wanted = cogen::bench::parse(argc, argv)) cogen::bench::run(*wanted);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "device: {}\n", e.what());
  return 1;
}
