// Tokens per second of requests with a JSON schema and of the same requests without, in turns, and their processor
// time.
#include "default_model.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/use_future.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace {

namespace net = boost::asio;
namespace po = boost::program_options;

struct settings {
  std::string model, compute_type, schema;
  std::vector<int> streams;
  int tokens, rounds;
};

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options("Measures what a JSON schema on all streams costs.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("compute-type", po::value(&wanted.compute_type)->default_value("int8"), "int8 or float32");
  add("schema", po::value(&wanted.schema)->default_value(COGEN_PEOPLE_SCHEMA),
      "a file with a schema of texts so long that --tokens cuts them");
  add("streams", po::value(&wanted.streams)->multitoken()->default_value({1, 8, 32}, "1 8 32"), "at the same time");
  add("tokens", po::value(&wanted.tokens)->default_value(128), "of each stream");
  add("rounds", po::value(&wanted.rounds)->default_value(9), "of each kind");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  if (given.contains("help")) {
    std::cout << options;
    return std::nullopt;
  }
  po::notify(given);
  if (wanted.compute_type != "int8" && wanted.compute_type != "float32")
    throw std::invalid_argument("--compute-type: there are int8 and float32");
  if (wanted.tokens < 1 || wanted.rounds < 1 || std::ranges::min(wanted.streams) < 1)
    throw std::invalid_argument("--streams, --tokens and --rounds must be at least 1");
  return wanted;
}

std::string schema_of(const settings& wanted) {
  std::ifstream file(wanted.schema);
  if (!file) throw std::runtime_error(wanted.schema + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a round takes, in seconds.
struct cost {
  double time;
  double processor;  ///< of all threads
};

double processor_time() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Until all streams have said their tokens.
cost cost_of(cogen::engine& engine, const settings& wanted, int streams,
             const std::optional<cogen::compiled_format>& format) {
  cogen::request asked{.prompt = cogen::chat("List people with their names, ages, towns and languages."),
                       .max_tokens = wanted.tokens,
                       .sampling = {.temperature = 0.8, .top_p = 0.95},
                       .ignore_eos = true};
  if (format) asked.response_format = *format;
  std::vector<cogen::token_stream> running;
  std::vector<std::future<cogen::completion>> ended;
  const auto start = std::chrono::steady_clock::now();
  const double used = processor_time();
  for (int i = 0; i < streams; ++i) {
    asked.sampling.seed = static_cast<std::uint64_t>(i);
    running.push_back(engine.generate(asked));
  }
  for (auto& each : running) ended.push_back(each.async_complete(net::use_future));
  for (auto& each : ended)
    if (const auto said = each.get(); std::ssize(said.tokens) != wanted.tokens)
      throw std::runtime_error(fmt::format("an answer has {} tokens: {}", said.tokens.size(), said.text));
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), processor_time() - used};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(cogen::engine& engine, const settings& wanted, int streams, const cogen::compiled_format& format) {
  std::vector<double> free, constrained, ratios, processor;
  cost_of(engine, wanted, streams, std::nullopt);
  cost_of(engine, wanted, streams, format);
  for (int i = 0; i < wanted.rounds; ++i) {
    const auto without = cost_of(engine, wanted, streams, std::nullopt);
    const auto with = cost_of(engine, wanted, streams, format);
    free.push_back(without.time);
    constrained.push_back(with.time);
    ratios.push_back(without.time / with.time);
    processor.push_back(without.processor / with.processor);
  }
  const auto rate = [&](const std::vector<double>& times) { return streams * wanted.tokens / median(times); };
  fmt::print(
      "{:3} streams: {:5.0f} tokens/s without, {:5.0f} with the schema: {:.3f} of the rate ({:.3f} to {:.3f}), "
      "{:.3f} by processor time ({:.3f} to {:.3f})\n",
      streams, rate(free), rate(constrained), median(ratios), std::ranges::min(ratios), std::ranges::max(ratios),
      median(processor), std::ranges::min(processor), std::ranges::max(processor));
}

void run(const settings& wanted) {
  cogen::engine_options options;
  options.batching.slots = std::ranges::max(wanted.streams);
  options.compute_type = wanted.compute_type == "int8" ? cogen::compute_type::int8 : cogen::compute_type::float32;
  cogen::engine engine(cogen::load_model(wanted.model), options);
  const auto format = engine.async_compile(cogen::json_schema(schema_of(wanted)), net::use_future).get();
  for (const int streams : wanted.streams) measure(engine, wanted, streams, format);
}

}  // namespace

int main(int argc, char** argv) try {
  if (const auto wanted = parse(argc, argv)) run(*wanted);
  return 0;
} catch (const std::exception& e) {
  std::cerr << "structured_output: " << e.what() << '\n';
  return 1;
}
