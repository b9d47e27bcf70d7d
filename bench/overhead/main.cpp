// What the engine adds to the time of a decode step: time, instructions and allocations outside kernels.
#include "default_model.hpp"
#include "measurement.hpp"
#include "models.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <iostream>
#include <optional>

namespace po = boost::program_options;

namespace overhead {
namespace {

constexpr int vocabulary = 49152;  // of the default model

struct settings {
  std::string model;
  std::string only;
  int requests;
  effort amount;
  std::optional<int> threads;
  bool json;
};

workload without_model(std::string name, int tokens, cogen::sampling_params sampling) {
  return {std::move(name), {1, 4, 16, 64, 256}, std::move(sampling), [scores = some_scores(tokens)](int requests) {
            return no_model(scores, requests);
          }};
}

/// Sixteen requests beside others that nothing happens to.
workload beside_idle(int idle) {
  auto load = without_model("idle" + std::to_string(idle), 64, {});
  load.requests = {16};
  load.idle = idle;
  return load;
}

workload with_model(const settings& wanted) {
  cogen::load_options loading;
  loading.threads = wanted.threads;
  const auto model = cogen::load_model(wanted.model, loading);
  return {"model", {1, 8, 32}, {}, [model, threads = wanted.threads](int requests) {
            return real_model(model, requests, threads);
          }};
}

double microseconds(double nanoseconds) { return nanoseconds / 1000; }

void print(const workload& load, const measurement& result, bool json) {
  const auto& [engine, launch, readers] = result.parts;
  const char* shown =
      "{:<8} {:>8}  {:>9.2f} {:>9.0f} {:>6.1f}  {:>9.2f} {:>10.0f}  {:>9.2f} {:>9.0f} {:>6.1f}  {:>9.2f}  {:>9.2f}\n";
  const char* object =
      "{{\"workload\": \"{}\", \"requests\": {}, \"engine_us\": {:.3f}, \"engine_instructions\": {:.0f}, "
      "\"engine_allocations\": {:.2f}, \"launch_us\": {:.3f}, \"launch_instructions\": {:.0f}, \"readers_us\": {:.3f}, "
      "\"readers_instructions\": {:.0f}, \"readers_allocations\": {:.2f}, \"own_thread_us\": {:.3f}, "
      "\"reading_thread_us\": {:.3f}}}\n";
  fmt::print(fmt::runtime(json ? object : shown), load.name, result.requests, microseconds(engine.nanoseconds),
             engine.instructions, engine.allocations, microseconds(launch.nanoseconds), launch.instructions,
             microseconds(readers.nanoseconds), readers.instructions, readers.allocations,
             microseconds(result.own_thread), microseconds(result.processor));
  std::fflush(stdout);
}

void print_fit(const workload& load, const std::vector<measurement>& results, bool json) {
  const auto fit = [&](auto value) {
    std::vector<std::pair<double, double>> points;
    for (const auto& each : results) points.emplace_back(each.requests, value(each));
    return fitted(points);
  };
  const auto fit_of = [&](part which, double cost::*member) {
    return fit([=](const measurement& entry) { return entry.parts[static_cast<std::size_t>(which)].*member; });
  };
  const char* shown = "{:<8} {:>8}: {} {:.2f} + {:.3f} us a request, {:.0f} + {:.0f} instructions\n";
  const char* object =
      "{{\"workload\": \"{}\", \"fit\": \"{}\", \"part\": \"{}\", \"us\": {:.3f}, \"us_a_request\": {:.4f}, "
      "\"instructions\": {:.0f}, \"instructions_a_request\": {:.1f}}}\n";
  for (const auto& [which, name] : {std::pair(part::engine, "engine"), std::pair(part::readers, "readers")}) {
    const auto time = fit_of(which, &cost::nanoseconds);
    const auto count = fit_of(which, &cost::instructions);
    fmt::print(fmt::runtime(json ? object : shown), load.name, "a step", name, microseconds(time.first),
               microseconds(time.slope), count.first, count.slope);
  }
  const auto own = fit([](const measurement& entry) { return entry.own_thread; });
  fmt::print(fmt::runtime(json ? object : shown), load.name, "a step", "own thread", microseconds(own.first),
             microseconds(own.slope), 0.0, 0.0);
}

void run(const workload& load, const settings& wanted, meter& with) {
  std::vector<measurement> results;
  for (const int requests : load.requests) {
    if (wanted.requests != 0 && wanted.requests != requests) continue;
    results.push_back(measure(load, requests, wanted.amount, with));
    print(load, results.back(), wanted.json);
  }
  if (results.size() > 1) print_fit(load, results, wanted.json);
}

void run(const settings& wanted) {
  meter with;
  if (!wanted.json)
    fmt::print(
        "Instructions counted by {}. Of one step, by hand; last, with the engine on a thread of its own:\n"
        "                   engine                      launch and samples      readers                     between   "
        "reading\n"
        "workload requests         us    instr. alloc.         us     instr.         us    instr. alloc.  launches us "
        "thread us\n",
        with.counted_by());
  const auto sampled = cogen::sampling_params{.temperature = 0.8, .top_p = 0.95, .seed = 1};
  const auto runs = [&](std::string_view name) { return wanted.only.empty() || wanted.only == name; };
  if (runs("small")) run(without_model("small", 64, {}), wanted, with);
  if (runs("greedy")) run(without_model("greedy", vocabulary, {}), wanted, with);
  if (runs("sampled")) run(without_model("sampled", vocabulary, sampled), wanted, with);
  for (const int idle : {10, 1000})
    if (runs("idle")) run(beside_idle(idle), wanted, with);
  if (runs("model")) run(with_model(wanted), wanted, with);
}

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options(
      "Measures what the engine adds to each decode step: all that is not within runner::launch(). A model that takes\n"
      "no time is sampled from a small vocabulary (small), greedily and with top-p from 49,152 tokens (greedy, "
      "sampled), and beside 10 and 1,000 idle streams (idle);\n"
      "then a real one runs (model). Where the kernel refuses its counter, instructions are counted by\n\n"
      "  valgrind --tool=callgrind --collect-atstart=no bench/overhead --only small --rounds 1\n\n"
      "whose files, one for each count, callgrind_annotate shows function by function.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("only", po::value(&wanted.only), "small, greedy, sampled, idle or model");
  add("requests", po::value(&wanted.requests)->default_value(0), "only this number of them; 0: each");
  add("steps", po::value(&wanted.amount.steps)->default_value(128), "of one round, and of one before the first");
  add("rounds", po::value(&wanted.amount.rounds)->default_value(9), "whose median is printed");
  add("model", po::value(&wanted.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("threads", po::value<int>()->notifier([&](int threads) { wanted.threads = threads; }),
      "that the model computes with; all if not given");
  add("json", po::bool_switch(&wanted.json), "one JSON object a line");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << options, std::nullopt;
  if (wanted.amount.steps < 1 || wanted.amount.rounds < 1)
    throw std::invalid_argument("--steps and --rounds must be at least 1");
  return wanted;
}

}  // namespace
}  // namespace overhead

int main(int argc, char** argv) try {
  if (const auto wanted = overhead::parse(argc, argv)) overhead::run(*wanted);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "overhead: {}\n", e.what());
  return 1;
}
