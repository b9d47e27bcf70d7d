#include "watch.hpp"

#include "memory.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace cogen::soak {
namespace {

void print(std::size_t second, const moment& now, std::uint64_t deeds, const tally& counts, const engine_stats& stats) {
  fmt::print("{:>5} s  {:>6} deeds  {:>9} tokens read  {:>7} preempted  {:>7} swapped out  {:>4} waiting  {:>7} KiB\n",
             second, deeds, counts.tokens.load(), stats.preempted, stats.swapped_out, stats.waiting,
             now.resident / 1024);
  std::fflush(stdout);
}

}  // namespace

std::vector<moment> watch(const subject& setup, const tally& counts, const options& wanted) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<moment> seen;
  for (int second = 1; second <= wanted.seconds; ++second) {
    std::this_thread::sleep_until(begin + std::chrono::seconds(second));
    const moment now{counts.deeds(), resident_bytes(), open_descriptors()};
    print(seen.size() + 1, now, now.deeds - (seen.empty() ? 0 : seen.back().deeds), counts, setup.running->stats());
    seen.push_back(now);
  }
  return seen;
}

}  // namespace cogen::soak
