// Tokens per second by number of concurrent requests.
#include <cogen/chrome_trace.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <sys/resource.h>

namespace net = boost::asio;
namespace po = boost::program_options;

namespace {

using seconds = std::chrono::duration<double>;
using time_point = std::chrono::steady_clock::time_point;

struct settings {
  std::string model;
  std::vector<int> requests;
  int prompt_tokens;
  int new_tokens;
  int repeat;
  int threads;
  std::string cache_type;
  cogen::numerics numerics;
  std::string trace;
  bool json;
};

/// When each token of one request reached its reader.
using observation = std::vector<time_point>;

struct measurement {
  int requests;
  double decode_tokens_per_second;   // while every request decodes: tokens after the last request's first one
  double prefill_tokens_per_second;  // all prompt tokens by the time until the last request's first token
  double tokens_per_second;          // all new tokens by the whole time, prompts included
  double time_to_first_token_ms;     // median
  double mean_batch;
};

/// The same ids as bench/peers uses, so that every system reads the same prompts.
std::vector<cogen::token> prompt(int request, int length, std::int64_t vocabulary) {
  std::vector<cogen::token> ids;
  for (std::int64_t j = 0; j < length; ++j)
    ids.push_back(static_cast<cogen::token>((std::int64_t{request} * 1009 + j * 131 + 17) % (vocabulary - 64) + 32));
  return ids;
}

net::awaitable<void> read(cogen::token_stream stream, observation& into) {
  while (auto piece = co_await stream.next())
    into.insert(into.end(), piece->tokens.size(), std::chrono::steady_clock::now());
}

std::vector<observation> run(cogen::engine& engine, std::int64_t vocabulary, int requests, const settings& wanted) {
  net::io_context context;
  std::vector<observation> seen(static_cast<std::size_t>(requests));
  for (int i = 0; i < requests; ++i) {
    auto request = cogen::token_ids(prompt(i, wanted.prompt_tokens, vocabulary));
    request.max_tokens(wanted.new_tokens).ignore_end().lookahead(wanted.new_tokens);
    net::co_spawn(context, read(engine.generate(std::move(request)), seen[static_cast<std::size_t>(i)]),
                  [](std::exception_ptr error) {
                    if (error) std::rethrow_exception(error);
                  });
  }
  context.run();
  return seen;
}

measurement measure(const std::shared_ptr<const cogen::model>& model, int requests, const settings& wanted,
                    const std::string& trace) {
  cogen::engine_options options;
  options.slots = requests;
  options.max_length = wanted.prompt_tokens + wanted.new_tokens;
  options.threads = wanted.threads;
  options.numerics = wanted.numerics;
  if (wanted.cache_type == "f32") options.cache_type = cogen::cache::scalar::f32;
  if (wanted.cache_type == "f16") options.cache_type = cogen::cache::scalar::f16;
  if (wanted.cache_type == "bf16") options.cache_type = cogen::cache::scalar::bf16;
  if (!trace.empty()) options.events = std::make_shared<cogen::chrome_trace>(trace);
  cogen::engine engine(model, options);
  const auto begin = std::chrono::steady_clock::now();
  const auto seen = run(engine, model->config().vocabulary, requests, wanted);

  std::vector<double> first;
  time_point last_first = begin, end = begin;
  for (const auto& each : seen) {
    first.push_back(seconds(each.front() - begin).count() * 1000);
    last_first = std::max(last_first, each.front());
    end = std::max(end, each.back());
  }
  std::sort(first.begin(), first.end());
  double decoded = 0;
  for (const auto& each : seen)
    decoded +=
        static_cast<double>(std::count_if(each.begin(), each.end(), [&](auto time) { return time > last_first; }));
  const auto stats = engine.stats();
  return {requests,
          decoded / std::max(1e-9, seconds(end - last_first).count()),
          static_cast<double>(requests) * wanted.prompt_tokens / std::max(1e-9, seconds(last_first - begin).count()),
          static_cast<double>(requests) * wanted.new_tokens / std::max(1e-9, seconds(end - begin).count()),
          first[first.size() / 2],
          static_cast<double>(stats.rows) / static_cast<double>(stats.steps)};
}

measurement median(std::vector<measurement> all) {
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.decode_tokens_per_second < b.decode_tokens_per_second; });
  return all[all.size() / 2];
}

double peak_memory_mib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

void print(const measurement& one, const cogen::model& model, bool json) {
  if (json)
    fmt::print(
        "{{\"requests\": {}, \"decode_tokens_per_second\": {:.1f}, \"prefill_tokens_per_second\": {:.1f}, "
        "\"tokens_per_second\": {:.1f}, \"time_to_first_token_ms\": {:.1f}, \"mean_batch\": {:.2f}, "
        "\"peak_memory_mib\": {:.0f}, \"bytes_per_step\": {}, \"weight_type\": \"{}\"}}\n",
        one.requests, one.decode_tokens_per_second, one.prefill_tokens_per_second, one.tokens_per_second,
        one.time_to_first_token_ms, one.mean_batch, peak_memory_mib(), model.weight_bytes(), model.weight_type());
  else
    fmt::print("{:>8}  {:>12.1f}  {:>13.1f}  {:>11.1f}  {:>16.1f}  {:>10.2f}  {:>8.0f}\n", one.requests,
               one.decode_tokens_per_second, one.prefill_tokens_per_second, one.tokens_per_second,
               one.time_to_first_token_ms, one.mean_batch, peak_memory_mib());
  std::fflush(stdout);
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> all;
  std::stringstream stream(text);
  for (std::string each; std::getline(stream, each, ',');) {
    const int value = std::stoi(each);
    if (value < 1 || value > 4096)
      throw std::invalid_argument(fmt::format("--requests holds {}; each must be between 1 and 4096", value));
    all.push_back(value);
  }
  return all;
}

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  std::string requests, numerics;
  po::options_description options("Measures tokens per second by number of concurrent requests.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(COGEN_DEFAULT_MODEL), "a GGUF file or a Hugging Face folder");
  add("requests", po::value(&requests)->default_value("1,4,8,16,32"), "how many at the same time, one run for each");
  add("prompt-tokens", po::value(&wanted.prompt_tokens)->default_value(64), "length of each prompt");
  add("new-tokens", po::value(&wanted.new_tokens)->default_value(64), "tokens to generate for each");
  add("repeat", po::value(&wanted.repeat)->default_value(1), "runs of each, of which the median is shown");
  add("threads", po::value(&wanted.threads)->default_value(0), "threads that compute; 0: all");
  add("cache-type", po::value(&wanted.cache_type)->default_value(""), "f32, f16 or bf16; the model's own if not given");
  add("numerics", po::value(&numerics)->default_value("exact"), "exact or fast: how products are computed");
  add("trace", po::value(&wanted.trace)->default_value(""),
      "a file for a trace of the last run, for chrome://tracing, ui.perfetto.dev and bench/timeline/plot.py");
  add("json", po::bool_switch(&wanted.json), "one JSON object a line");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << options, std::nullopt;
  wanted.requests = numbers(requests);
  if (numerics != "exact" && numerics != "fast")
    throw std::invalid_argument(fmt::format("--numerics {}: there are exact and fast", numerics));
  wanted.numerics = numerics == "fast" ? cogen::numerics::fast : cogen::numerics::exact;
  if (wanted.prompt_tokens < 1 || wanted.new_tokens < 2 || wanted.repeat < 1)
    throw std::invalid_argument("--prompt-tokens and --repeat must be at least 1, --new-tokens at least 2");
  return wanted;
}

int run(const settings& wanted) {
  cogen::load_options loading;
  loading.threads = wanted.threads;
  const auto model = cogen::load_model(wanted.model, loading);
  measure(model, 1, wanted, "");  // warms the file cache, the pages and the threads
  if (!wanted.json)
    fmt::print("requests  decode tok/s  prefill tok/s  whole tok/s  first token (ms)  mean batch  peak MiB\n");
  for (const int requests : wanted.requests) {
    std::vector<measurement> all;
    for (int i = 1; i < wanted.repeat; ++i) all.push_back(measure(model, requests, wanted, ""));
    all.push_back(measure(model, requests, wanted, wanted.trace));
    print(median(std::move(all)), *model, wanted.json);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto wanted = parse(argc, argv);
  return wanted ? run(*wanted) : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "throughput: {}\n", e.what());
  return 1;
}
