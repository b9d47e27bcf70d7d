#include "measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <sys/resource.h>

namespace pressure {
namespace {

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

}  // namespace

measurement timed(const cogen::engine& engine, const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  run();
  return {seconds(std::chrono::steady_clock::now() - begin).count(), cpu_seconds() - cpu, engine.stats()};
}

tokens some_tokens(int seed, int count, std::int64_t vocabulary) {
  tokens ids;
  for (std::int64_t j = 0; j < count; ++j)
    ids.push_back(static_cast<cogen::token>((std::int64_t{seed} * 1009 + j * 131 + 17) % (vocabulary - 64) + 32));
  return ids;
}

void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

void check_same(const tokens& seen, const tokens& alone, std::string_view subject, std::size_t number) {
  if (seen != alone) throw std::runtime_error(fmt::format("{} {} says something else than alone", subject, number));
}

cogen::engine_options base(const settings& wanted, int slots, int max_sequence_length) {
  cogen::engine_options options;
  options.batching.slots = slots;
  options.limits.max_sequence_length = max_sequence_length;
  options.threads = wanted.threads;
  options.policies.idle_timeout = milliseconds(wanted.idle_timeout_ms);
  return options;
}

std::vector<std::vector<measurement>> by_turns(const settings& wanted,
                                               const std::vector<std::function<measurement()>>& kinds) {
  std::vector<std::vector<measurement>> results(kinds.size());
  for (int round = 0; round < wanted.rounds; ++round)
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::size_t kind = round % 2 == 0 ? i : kinds.size() - 1 - i;
      results[kind].push_back(kinds[kind]());
    }
  return results;
}

std::vector<double> walls(const std::vector<measurement>& runs) {
  std::vector<double> values;
  for (const auto& each : runs) values.push_back(each.wall);
  std::sort(values.begin(), values.end());
  return values;
}

double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

void print_ratio(std::string_view name, const std::vector<measurement>& above, const std::vector<measurement>& below,
                 std::string_view aim) {
  std::vector<double> wall, cpu;
  for (std::size_t i = 0; i < above.size(); ++i) {
    wall.push_back(above[i].wall / below[i].wall);
    cpu.push_back(above[i].cpu / below[i].cpu);
  }
  std::sort(wall.begin(), wall.end());
  std::sort(cpu.begin(), cpu.end());
  fmt::print("{:<44} {:.3f} ({:.3f} to {:.3f}) by wall time, {:.3f} ({:.3f} to {:.3f}) by CPU time{}\n", name,
             median(wall), wall.front(), wall.back(), median(cpu), cpu.front(), cpu.back(), aim);
}

}  // namespace pressure
