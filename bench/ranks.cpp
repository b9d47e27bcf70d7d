// mpirun -n N ranks: what ranks that split layers wait for each other, by size: a step of ROWS rows adds up two sums of
// [ROWS, HIDDEN] float32 a layer.
#include "command_line.hpp"
#include "network/parallel/rank_group.hpp"
#include "network/parallel/world.hpp"

#include <boost/program_options.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

namespace {

namespace po = boost::program_options;
using namespace cogen;

struct settings {
  std::vector<int> hidden;
  std::vector<int> rows;
  int repeat = 0;
};

/// Median microseconds of a sum.
double time_of_sum(parallel::rank_group& ranks, std::size_t numbers, int repeat) {
  std::vector<float> rows(numbers, 1);
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ranks.sum(rows);
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    std::ranges::fill(rows, 1.0F);
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

void measure(const settings& wanted) {
  const auto world = parallel::world();
  parallel::rank_group ranks(world, world->size(), 1);
  if (ranks.leads())
    fmt::print("{} ranks\n{:>8}{:>8}{:>12}{:>10}\n", ranks.size(), "hidden", "rows", "us a sum", "MB/s");
  for (const int hidden : wanted.hidden)
    for (const int rows : wanted.rows) {
      const auto numbers = static_cast<std::size_t>(hidden) * static_cast<std::size_t>(rows);
      const auto time = time_of_sum(ranks, numbers, wanted.repeat);
      if (!ranks.leads()) continue;
      fmt::print("{:>8}{:>8}{:>12.1f}{:>10.0f}\n", hidden, rows, time, static_cast<double>(4 * numbers) / time);
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) try {
  settings wanted;
  po::options_description options("mpirun -n N ranks: the time of sums over N ranks.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("hidden", po::value(&wanted.hidden)->multitoken()->default_value({576, 4096, 8192}, "576 4096 8192"),
      "widths of hidden states");
  add("rows", po::value(&wanted.rows)->multitoken()->default_value({1, 8, 32, 256}, "1 8 32 256"), "rows of a step");
  add("repeat", po::value(&wanted.repeat)->default_value(501), "sums of each size, of which the median is shown");
  if (!read_command_line(argc, argv, options)) return 0;
  measure(wanted);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "ranks: {}\n", error.what());
  return 1;
}
