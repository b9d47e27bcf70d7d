// Seconds to load a model, by part, and the memory that it takes; what the process costs before is shown apart.
#include "default_model.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace po = boost::program_options;

namespace {

using clock_type = std::chrono::steady_clock;

struct settings {
  std::string model;
  int repeat;
  std::optional<int> threads;
  bool json;
};

/// The process before it loads anything: libraries are mapped, and LibTorch has set itself up.
struct start {
  double processor_seconds;
  double memory_mib;
};

/// Of one load, in seconds.
struct measurement {
  double text;     // the file's header and the tokenizer, until the first weight is read
  double weights;  // all weights
  double rest;     // checks and the model's identity
  std::uint64_t weight_bytes;

  double whole() const { return text + weights + rest; }
};

double seconds(clock_type::time_point begin, clock_type::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// The most that was resident so far. Not getrusage(): that remembers who started the process.
double peak_memory_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

measurement measure(const settings& wanted) {
  measurement result{};
  clock_type::time_point first_weight, last_weight;
  cogen::load_options options;
  options.threads = wanted.threads;
  options.progress = [&](const cogen::load_progress& now) {
    last_weight = clock_type::now();
    if (now.done_bytes == 0) first_weight = last_weight;
    result.weight_bytes = now.total_bytes;
    return true;
  };
  const auto begin = clock_type::now();
  const auto model = cogen::load_model(wanted.model, options);
  const auto end = clock_type::now();
  result.text = seconds(begin, first_weight);
  result.weights = seconds(first_weight, last_weight);
  result.rest = seconds(last_weight, end);
  return result;
}

measurement median(std::vector<measurement> runs) {
  std::ranges::sort(runs, {}, &measurement::whole);
  return runs[runs.size() / 2];
}

void print(const settings& wanted, const start& baseline, double first, const measurement& middle) {
  const double speed = static_cast<double>(middle.weight_bytes) / middle.weights / 1e9;
  const char* shown =
      "LibTorch's own start {:.3f} s of processor time, {:.0f} MiB\n"
      "loads  first s  median s  header and tokenizer  weights   rest  GB/s  peak MiB\n"
      "{:>5}  {:>7.3f}  {:>8.3f}  {:>20.3f}  {:>7.3f}  {:>5.3f}  {:>4.1f}  {:>8.0f}\n";
  const char* json =
      "{{\"start_seconds\": {:.4f}, \"start_memory_mib\": {:.0f}, \"loads\": {}, \"first_seconds\": {:.4f}, "
      "\"seconds\": {:.4f}, \"text_seconds\": {:.4f}, \"weight_seconds\": {:.4f}, \"other_seconds\": {:.4f}, "
      "\"gigabytes_per_second\": {:.2f}, \"peak_memory_mib\": {:.0f}}}\n";
  fmt::print(fmt::runtime(wanted.json ? json : shown), baseline.processor_seconds, baseline.memory_mib, wanted.repeat,
             first, middle.whole(), middle.text, middle.weights, middle.rest, speed, peak_memory_mib());
}

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options("Measures how long a model takes to load, and the memory for that.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("repeat", po::value(&wanted.repeat)->default_value(9), "loads, of which the first and the median are shown");
  add("threads", po::value<int>()->notifier([&](int threads) { wanted.threads = threads; }),
      "that read and pack; all if not given");
  add("json", po::bool_switch(&wanted.json), "one JSON object");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << options, std::nullopt;
  if (wanted.repeat < 1) throw std::invalid_argument("--repeat must be at least 1");
  return wanted;
}

void run(const settings& wanted, const start& baseline) {
  std::vector<measurement> runs;
  for (int i = 0; i < wanted.repeat; ++i) runs.push_back(measure(wanted));
  const double first = runs.front().whole();
  print(wanted, baseline, first, median(std::move(runs)));
}

}  // namespace

int main(int argc, char** argv) try {
  const start baseline{static_cast<double>(std::clock()) / CLOCKS_PER_SEC, peak_memory_mib()};
  if (const auto wanted = parse(argc, argv)) run(*wanted, baseline);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "load: {}\n", e.what());
  return 1;
}
