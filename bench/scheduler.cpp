// What the scheduler's decisions cost: nanoseconds and instructions per row and step, planning and absorbing together.
#include "instruction_counter.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <boost/program_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cogen::scheduler;

constexpr int plenty = std::numeric_limits<int>::max();
constexpr int rounds = 9;
constexpr int steps_per_round = 200;

struct workload {
  const char* name;
  int live;
  int slots;
  int prompt;
  int max_batched_tokens;
  int depth;
  int new_tokens;
  int common = 0;        ///< tokens that all prompts begin with, and slots are reused; 0: they are not
  bool growing = false;  ///< memory is set aside as sequences grow
};

constexpr workload workloads[] = {
    {"16 live, all decode", 16, 16, 1, 512, 1, plenty},
    {"1000 live, all decode", 1000, 1000, 1, 1000, 1, plenty},
    {"1000 live, all decode, one plan ahead", 1000, 1000, 1, 1000, 2, plenty},
    {"1000 live, half of them fit in a plan", 1000, 1000, 1, 500, 1, plenty},
    {"1000 live, 32 slots, prompts of 200, answers of 50", 1000, 32, 200, 512, 1, 50},
    {"1000 live, all decode, memory as they grow", 1000, 1000, 1, 1000, 1, plenty, 0, true},
    {"1000 live, all decode, reused", 1000, 1000, 1, 1000, 1, plenty, 1},
    {"1000 live, 32 slots, prompts that begin alike", 1000, 32, 200, 512, 1, 50, 150},
};

class load {
 public:
  explicit load(const workload& traffic)
      : traffic_(traffic),
        machine_(limits_of(traffic), fcfs(), longest_idle(), traffic.growing ? watermarks() : reserve_max_length()) {
    top_up();
  }

  /// Rows absorbed in `steps` steps.
  std::size_t run(int steps) {
    std::size_t rows = 0;
    for (int i = 0; i < steps; ++i) {
      in_flight_.push_back(machine_.next());
      if (static_cast<int>(in_flight_.size()) < traffic_.depth) continue;
      rows += in_flight_.front().rows.size();
      std::ranges::fill(in_flight_.front().sampled, 7);
      machine_.absorb(in_flight_.front());
      in_flight_.pop_front();
      if (traffic_.new_tokens != plenty) top_up();
    }
    return rows;
  }

 private:
  static limits limits_of(const workload& traffic) {
    limits result;
    result.slots = traffic.slots;
    result.max_sequence_length = 1 << 16;
    result.max_batched_tokens = traffic.max_batched_tokens;
    result.depth = traffic.depth;
    result.usage = {0, 1, 64};
    result.prefix_caching = traffic.common > 0;
    result.spare_slots = traffic.common > 0 ? traffic.slots : 0;
    if (traffic.growing) result.memory_bytes = std::int64_t{1000} * (1 << 16);
    return result;
  }

  void top_up() {
    sequence_options options;
    options.max_new_tokens = traffic_.new_tokens;
    options.release_at_end = true;
    while (machine_.live() < traffic_.live) machine_.submit(options, {next_prompt(), output::sample, plenty});
  }

  std::vector<token> next_prompt() {
    std::vector<token> prompt(static_cast<std::size_t>(traffic_.prompt), 1);
    ++asked_;
    std::fill(prompt.begin() + std::min(traffic_.common, traffic_.prompt), prompt.end(), asked_);
    return prompt;
  }

  workload traffic_;
  token asked_ = 0;
  scheduler machine_;
  std::deque<step> in_flight_;
};

/// Of one row in one step.
struct cost {
  double nanoseconds;
  double instructions;
  std::size_t rows;  ///< that were run
};

cost cost_of(load& running, const instruction_counter& counter) {
  const auto start = std::chrono::steady_clock::now();
  const auto first_count = counter.now();
  const auto run = running.run(steps_per_round);
  const auto rows = static_cast<double>(run);
  const auto instructions = static_cast<double>(counter.now() - first_count);
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return {passed.count() / rows, instructions / rows, run};
}

void measure(const workload& traffic, const instruction_counter& counter) {
  load running(traffic);
  const auto warm_up = running.run(steps_per_round);
  std::vector<double> times, instructions;
  std::size_t rows = warm_up;
  for (int i = 0; i < rounds; ++i) {
    const cost round_cost = cost_of(running, counter);
    times.push_back(round_cost.nanoseconds);
    instructions.push_back(round_cost.instructions);
    rows += round_cost.rows;
  }
  std::sort(times.begin(), times.end());
  std::sort(instructions.begin(), instructions.end());
  std::printf("%-52s %7.0f ns a row (%.0f to %.0f)", traffic.name, times[rounds / 2], times.front(), times.back());
  if (counter.counts()) std::printf(", %.0f instructions", instructions[rounds / 2]);
  std::printf("; %zu rows in all\n", rows);
}

/// Returns false where --help has been answered.
bool read_options(int argc, char** argv, std::string& only) {
  namespace po = boost::program_options;
  po::options_description options("Options");
  options.add_options()("help", "show this help and end");
  options.add_options()("only", po::value(&only), "measure only the workload of this name");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help"))
    std::cout << "Measures what the scheduler's decisions cost per row and step, planning and absorbing together: the "
                 "median of\n"
              << rounds << " rounds of " << steps_per_round
              << " steps, and the least and the most. Where the kernel refuses its counter, the instructions of one\n"
                 "workload are counted by\n\n"
                 "  valgrind --tool=callgrind --toggle-collect='*::load::run(int)' bench/scheduler --only NAME\n\n"
                 "which says how many were collected, for as many rows as are printed last.\n\n"
              << options;
  return !given.contains("help");
}

}  // namespace

int main(int argc, char** argv) try {
  std::string only;
  if (!read_options(argc, argv, only)) return 0;
  const instruction_counter counter;
  if (!counter.counts())
    std::printf("Instructions are not counted: the kernel refuses the counter (%s).\n", counter.why_not().c_str());
  std::size_t measured = 0;
  for (const auto& each : workloads) {
    if (!only.empty() && only != each.name) continue;
    measure(each, counter);
    ++measured;
  }
  if (measured == 0) throw std::invalid_argument("no workload is named '" + only + "'");
} catch (const std::exception& error) {
  std::fprintf(stderr, "scheduler: %s\n", error.what());
  return 1;
}
