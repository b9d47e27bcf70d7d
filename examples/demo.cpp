// Sixteen chats at once on one thread, streaming side by side, and what that took.
#include "model_path.hpp"
#include "panes.hpp"
#include "terminal.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/metrics.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/program_options.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <optional>

namespace asio = boost::asio;
namespace po = boost::program_options;

namespace {

const std::vector<std::string> questions{
    "What makes the sky blue?",
    "Write a haiku about rain.",
    "How do I boil an egg?",
    "Who was Ada Lovelace?",
    "Explain recursion to a child.",
    "What do bees do in winter?",
    "Give me three uses for a brick.",
    "Why do cats purr?",
    "Describe the smell of a library.",
    "What is a prime number?",
    "Suggest a name for a sailing boat.",
    "How does a bicycle stay upright?",
    "Tell me a fact about octopuses.",
    "What is the capital of Iceland?",
    "Why is the sea salty?",
    "How do I thank a friend?",
};

struct settings {
  std::string model;
  int requests;
  int max_tokens;
  int slots;
  std::optional<int> threads;
  std::optional<cogen::compute_type> compute_type;
  cogen::parallel_options parallel;
  std::string trace;
  bool plain;
};

struct record {
  cogen::usage usage;
  std::string diagnostics;
};

void show_loading(const cogen::load_progress& progress, bool terminal) {
  static int shown = -1;
  const auto total = std::max<std::uint64_t>(1, progress.total_bytes);
  const int percent = static_cast<int>(progress.done_bytes * 100 / total);
  if (percent == shown || (!terminal && percent % 25 != 0)) return;
  shown = percent;
  fmt::print("{}loading [{:<40}] {:>3} %{}", terminal ? "\r" : "",
             std::string(static_cast<std::size_t>(percent) * 40 / 100, '#'), percent,
             terminal && percent < 100 ? "" : "\n");
  std::fflush(stdout);
}

asio::awaitable<void> ask(cogen::engine& engine, std::size_t index, const settings& wanted, example::panes& shown,
                          record& result) {
  auto request =
      cogen::request{.prompt = cogen::chat(questions[index % questions.size()]), .max_tokens = wanted.max_tokens};
  request.sampling = cogen::sampling_params{.temperature = 0.2, .top_p = 0.9, .repetition_penalty = 1.1, .seed = index};
  auto stream = engine.generate(std::move(request));
  try {
    while (auto piece = co_await stream.async_next()) shown.add(index, piece->text);
  } catch (const cogen::generation_error& e) {
    result.diagnostics = e.what();
  }
  result.usage = stream.usage();
  shown.close(index, result.diagnostics.empty() ? fmt::format("{} tokens, ended: {}", result.usage.generated_tokens,
                                                              to_string(*stream.finish()))
                                                : result.diagnostics);
}

double milliseconds(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

void summarize(const std::vector<record>& records, const cogen::engine_stats& stats, double seconds) {
  int tokens = 0;
  std::vector<double> first;
  for (const auto& each : records) {
    tokens += each.usage.generated_tokens;
    first.push_back(milliseconds(each.usage.time_to_first_token));
  }
  std::sort(first.begin(), first.end());
  fmt::print("\n{:<24}{}\n", "requests", records.size());
  fmt::print("{:<24}{}\n", "tokens", tokens);
  fmt::print("{:<24}{:.1f}\n", "tokens/s", tokens / seconds);
  fmt::print("{:<24}{:.0f} ms median, {:.0f} ms worst\n", "time to first token", first[first.size() / 2], first.back());
  fmt::print("{:<24}{:.1f}\n", "mean batch size",
             static_cast<double>(stats.rows) / static_cast<double>(std::max<std::uint64_t>(1, stats.steps)));
  fmt::print("{:<24}{:.0f} MiB\n", "peak memory", example::peak_memory_mib());
}

cogen::compute_type compute_type_named(const std::string& name) {
  if (name == "float32") return cogen::compute_type::float32;
  if (name == "int8") return cogen::compute_type::int8;
  throw std::invalid_argument(fmt::format("--compute-type {}: there are float32 and int8", name));
}

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  std::string compute_type;
  po::options_description options("Runs chat requests side by side in one batch.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(example::default_model().string()),
      "a GGUF file or a Hugging Face folder");
  add("requests", po::value(&wanted.requests)->default_value(16), "chats at the same time");
  add("max-tokens", po::value(&wanted.max_tokens)->default_value(96), "tokens for each answer at most");
  add("slots", po::value(&wanted.slots)->default_value(16), "sequences that run at the same time");
  add("threads", po::value<int>()->notifier([&](int threads) { wanted.threads = threads; }),
      "that compute; all if not given");
  add("compute-type", po::value(&compute_type),
      "float32 or int8: how products are computed; int8 for quantized weights");
  add("tensor", po::value(&wanted.parallel.tensor)->default_value(1),
      "processes that share each layer; mpirun starts tensor * pipeline of them");
  add("pipeline", po::value(&wanted.parallel.pipeline)->default_value(1), "groups of them that have some layers each");
  add("trace", po::value(&wanted.trace)->default_value(""),
      "a file for a trace of all slots and steps, for chrome://tracing and ui.perfetto.dev");
  add("plain", po::bool_switch(&wanted.plain), "lines instead of panes, also in a terminal");
  po::variables_map given;
  po::store(po::command_line_parser(argc, argv).options(options).positional({}).run(), given);
  po::notify(given);
  if (given.contains("help")) {
    std::ostringstream text;
    text << options;
    fmt::print("{}", text.str());
    return std::nullopt;
  }
  if (given.contains("compute-type")) wanted.compute_type = compute_type_named(compute_type);
  if (wanted.requests < 1 || wanted.requests > 1000)
    throw std::invalid_argument(fmt::format("--requests is {}; it must be between 1 and 1000", wanted.requests));
  return wanted;
}

cogen::engine_options engine_options_of(const settings& wanted) {
  cogen::engine_options options{.batching = {.slots = wanted.slots}};
  options.threads = wanted.threads;
  options.compute_type = wanted.compute_type;
  return options;
}

/// What the other processes do of a model that is split.
int work(const settings& wanted) {
  const auto model = cogen::load_model(wanted.model, {.threads = wanted.threads, .parallel = wanted.parallel});
  cogen::run_worker(model, engine_options_of(wanted));
  return 0;
}

int run(const settings& wanted) {
  const bool terminal = !wanted.plain && example::is_terminal();
  cogen::load_options loading{.threads = wanted.threads, .parallel = wanted.parallel};
  loading.progress = [terminal](const cogen::load_progress& progress) {
    show_loading(progress, terminal);
    return true;
  };
  auto options = engine_options_of(wanted);
  if (!wanted.trace.empty()) options.events = std::make_shared<cogen::chrome_trace>(wanted.trace);
  cogen::engine engine(cogen::load_model(wanted.model, loading), std::move(options));

  std::vector<std::string> titles;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.requests); ++i)
    titles.push_back(questions[i % questions.size()]);
  std::vector<record> records(titles.size());
  std::unique_ptr<example::panes> shown;
  asio::io_context context;
  int signal = 0;  // that ends it early: the cursor, which panes hide, has to come back
  asio::signal_set signals(context, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([&](const boost::system::error_code& cancelled, int received) {
    if (cancelled) return;
    signal = received;
    context.stop();
  });
  if (terminal)
    shown = std::make_unique<example::grid>(titles);
  else
    shown = std::make_unique<example::lines>(titles);

  auto running = records.size();
  for (std::size_t i = 0; i < titles.size(); ++i)
    asio::co_spawn(context, ask(engine, i, wanted, *shown, records[i]), [&](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
      if (--running == 0) signals.cancel();
    });
  const auto begin = std::chrono::steady_clock::now();
  context.run();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  shown.reset();
  if (signal != 0) return 128 + signal;
  summarize(records, engine.stats(), taken.count());
  return std::any_of(records.begin(), records.end(), [](const record& entry) { return !entry.diagnostics.empty(); })
             ? 1
             : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const auto wanted = parse(argc, argv);
  if (!wanted) return 0;
  return cogen::process_rank(wanted->parallel) == 0 ? run(*wanted) : work(*wanted);
} catch (const std::exception& e) {
  fmt::print(stderr, "demo: {}\n", e.what());
  return 1;
}
