#include "settings.hpp"

#include "default_model.hpp"
#include "kinds.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace po = boost::program_options;

namespace curves {

namespace {

constexpr auto about = R"(usage: cache_curves WHAT --text FILE --kinds KIND,... [options]

Measures one thing for cache kinds and prints one JSON object a line; progress goes to standard error.

WHAT is one of
  perplexity  of the text, in windows of --context tokens, with divergence and agreement against --reference
  windows     the token ids of those windows, one window a line, for another program to read
  memory      bytes taken, by length
  latency     milliseconds of each decode step, by length; the kinds take turns
  retrieval   whether facts planted in the text are found again, by length and depth
  endless     perplexity for each --bucket-tokens of one long text, in one go or (--how recompute) from a window
  free        free generation of --tokens tokens: how many 4-grams are distinct, by --bucket-tokens

KIND is one of these, with /compute-int8 after it for products of compute_type::int8; for perplexity also logits:FILE,
the
logits that another program has after each token of the windows: float32, [tokens, vocabulary]
)";

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) parts.push_back(word);
  return parts;
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> values;
  for (const auto& each : words(text)) values.push_back(std::stoi(each));
  std::sort(values.begin(), values.end());
  return values;
}

void require(bool condition, std::string_view message) {
  if (!condition) throw std::invalid_argument(std::string(message));
}

void check(const settings& given) {
  constexpr std::array known{"perplexity", "windows", "memory", "latency", "retrieval", "endless", "free"};
  require(std::find(known.begin(), known.end(), given.measurement) != known.end(),
          "the first argument says what to measure: perplexity, windows, memory, latency, retrieval, endless or free");
  require(!given.text.empty(), "--text names the file to read");
  require(!given.kinds.empty(), "--kinds names at least one kind");
  require(given.lengths.empty() || given.lengths.front() >= 1, "each of --lengths must be at least 1");
  const int least =
      std::min({given.context, given.tokens, given.chunk, given.buckets, given.bucket_tokens, given.blocks, given.steps,
                given.trials, given.depths, given.facts, given.window, given.stride});
  require(least >= 1, "every number of tokens, blocks, steps, trials, depths, facts and buckets must be at least 1");
  require(given.stride < given.window, "--stride must be less than --window");
  require(given.method == "keep" || given.method == "recompute", "--how is keep or recompute");
  require(given.temperature > 0, "--temperature must be above 0");
}

void show(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  fmt::print("{}{}\n{}", about, list_of_kinds(), text.str());
}

}  // namespace

std::optional<settings> parse(int argc, char** argv) {
  settings given{};
  std::string kinds, lengths;
  po::options_description options("Options");
  auto add = options.add_options();
  add("help", "show this and end");
  add("list-kinds", "name the kinds, one a line, and end");
  add("what", po::value(&given.measurement)->default_value(""), "what to measure");
  add("model", po::value(&given.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("text", po::value(&given.text)->default_value(""), "the file to read, UTF-8");
  add("kinds", po::value(&kinds)->default_value("bf16"), "cache kinds, with commas between");
  add("reference", po::value(&given.reference)->default_value("f32"),
      "perplexity: the kind the others are held against");
  add("lengths", po::value(&lengths)->default_value("1024,2048,4096,7168"), "memory, latency, retrieval: tokens held");
  add("context", po::value(&given.context)->default_value(4096), "perplexity: tokens of a window");
  add("tokens", po::value(&given.tokens)->default_value(100000), "perplexity, endless, free: tokens in all");
  add("chunk", po::value(&given.chunk)->default_value(256), "tokens of one forward");
  add("buckets", po::value(&given.buckets)->default_value(8), "perplexity: parts of a window that are reported apart");
  add("bucket-tokens", po::value(&given.bucket_tokens)->default_value(1000), "endless, free: tokens of a bucket");
  add("blocks", po::value(&given.blocks)->default_value(7), "latency: turns there and back");
  add("steps", po::value(&given.steps)->default_value(8), "latency: decode steps of one turn");
  add("depths", po::value(&given.depths)->default_value(4), "retrieval: places a fact may have");
  add("facts", po::value(&given.facts)->default_value(1), "retrieval: facts in one text; divides --depths");
  add("trials", po::value(&given.trials)->default_value(1), "retrieval: facts for each length and depth");
  add("how", po::value(&given.method)->default_value("keep"), "endless: keep (one cache throughout) or recompute");
  add("window", po::value(&given.window)->default_value(1024), "endless, recompute: the most tokens seen");
  add("stride", po::value(&given.stride)->default_value(256), "endless, recompute: tokens judged from one window");
  add("temperature", po::value(&given.temperature)->default_value(1.0), "free: how boldly tokens are sampled");
  add("seed", po::value(&given.seed)->default_value(7), "retrieval, free: names the random numbers");
  add("threads", po::value<int>()->notifier([&](int threads) { given.threads = threads; }),
      "that compute; all if not given");
  add("serve", po::bool_switch(&given.serve),
      "latency: measure what each line of standard input says: KIND LENGTH STEPS");
  po::positional_options_description first;
  first.add("what", 1);
  po::variables_map map;
  po::store(po::command_line_parser(argc, argv).options(options).positional(first).run(), map);
  po::notify(map);
  if (map.contains("help")) {
    show(options);
    return std::nullopt;
  }
  if (map.contains("list-kinds")) {
    for (const auto& each : curves::kinds()) fmt::print("{}\n", each.name);
    return std::nullopt;
  }
  given.kinds = words(kinds);
  given.lengths = numbers(lengths);
  check(given);
  return given;
}

}  // namespace curves
