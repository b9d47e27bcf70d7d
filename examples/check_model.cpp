// check_model [--record FILE] MODEL [TEXT]: whether a model that was fetched or converted is sound, on one page. How
// its weights are stored, how a text (of a file) becomes tokens and how much it surprises the model, an answer, memory
// and speed. A record has what scripts/compare-model compares with others: the text, its tokens and how it goes on.
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load/checkpoint.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

namespace asio = boost::asio;

namespace {

constexpr std::size_t max_tokens_read = 512;
constexpr std::string_view usual_text =
    "The sea covers more than two thirds of the Earth. Its water is salty, because rivers carry minerals from the land "
    "into it, and only the water itself leaves again, as vapour. The wind makes its waves, and the Moon its tides: "
    "twice a day the water rises and falls. Most of the animals that live there have never been seen by anyone.";

double mebibytes(double bytes) { return bytes / (1 << 20); }

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be opened", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

//[types
/// How many tensors are stored in each type, and the bytes they take.
void print_types(const cogen::load::checkpoint& files) {
  struct total {
    int tensors = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string_view, total> types;
  for (const auto& name : files.weight_names()) {
    const auto weight = files.find(name).value();
    auto& [tensors, bytes] = types[to_string(weight.type())];
    ++tensors;
    bytes += weight.bytes();
  }
  fmt::print("family   {}\n", files.family());
  for (const auto& [type, found] : types)
    fmt::print("weights  {:12} {:5} tensors {:10.1f} MiB\n", type, found.tensors,
               mebibytes(static_cast<double>(found.bytes)));
}
//]

/// The first tokens of a text, each as it is spelled.
void print_tokens(const cogen::text::tokenizer& tokenizer, const std::vector<cogen::token>& tokens) {
  std::vector<std::string> spelled;
  for (const auto token :
       std::vector(tokens.begin(), tokens.begin() + std::min<std::ptrdiff_t>(16, std::ssize(tokens))))
    spelled.push_back(fmt::format("{} {:?}", token, tokenizer.decode({&token, 1})));
  fmt::print("tokens   {}: {}\n", tokens.size(), fmt::join(spelled, ", "));
}

/// The text as the model's tokens, the log-probability of each, and the most probable tokens behind them.
struct text_record {
  std::string text;
  std::vector<cogen::token> tokens;
  std::vector<float> logprobs;
  std::vector<cogen::token> continuation;
};

/// Of a text by itself, and how fast it was read.
asio::awaitable<void> print_perplexity(cogen::engine& engine, text_record& record) {
  auto stream = engine.generate({.prompt = record.tokens, .max_tokens = 16, .ignore_eos = true, .prompt_logprobs = 0});
  const auto continued = co_await stream.async_complete();
  for (const auto& each : stream.prompt_logprobs()) record.logprobs.push_back(each.logprob);
  for (const auto& each : continued.tokens) record.continuation.push_back(each.id);
  const double sum = std::accumulate(record.logprobs.begin(), record.logprobs.end(), 0.0);
  const auto count = static_cast<double>(record.tokens.size());
  const std::chrono::duration<double> time = stream.usage().time_to_first_token;
  fmt::print("text     perplexity {:.2f}, {:.0f} tokens a second\n", std::exp(-sum / std::max(count - 1, 1.0)),
             count / time.count());
}

void write(const text_record& record, const std::string& path) {
  std::ofstream file(path);
  file << boost::json::object{{"text", record.text},
                              {"tokens", boost::json::value_from(record.tokens)},
                              {"logprobs", boost::json::value_from(record.logprobs)},
                              {"continuation", boost::json::value_from(record.continuation)}};
  if (!file.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", path));
}

asio::awaitable<void> print_answer(cogen::engine& engine, bool chats) {
  const std::string question = "What is the capital of France?";
  cogen::prompt prompt = question;
  if (chats) prompt = cogen::chat(question);
  auto stream = engine.generate({.prompt = std::move(prompt), .max_tokens = 48});
  const auto answer = co_await stream.async_complete();
  const auto generated = answer.usage.generated_tokens;
  const std::chrono::duration<double> time = answer.usage.total_time - answer.usage.time_to_first_token;
  fmt::print("answer   {:?}\n", answer.reasoning + answer.text);
  if (generated > 1) fmt::print("speed    {:.1f} tokens a second\n", (generated - 1) / time.count());
}

asio::awaitable<void> run(cogen::engine& engine, const cogen::model& model, text_record& record) {
  record.tokens = model.tokenizer().encode(record.text);
  print_tokens(model.tokenizer(), record.tokens);
  record.tokens.resize(std::min(record.tokens.size(), max_tokens_read));
  co_await print_perplexity(engine, record);
  co_await print_answer(engine, model.chat() != nullptr);
}

void print_memory(const cogen::model& model) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print("memory   {:.1f} MiB of weights are read for a token, {:.1f} MiB were used at most\n",
             mebibytes(static_cast<double>(model.weight_bytes())),
             mebibytes(static_cast<double>(used.ru_maxrss) * 1024));
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string recorded;
  if (arguments.size() > 2 && arguments[0] == "--record") {
    recorded = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.empty() || arguments.size() > 2)
    throw std::invalid_argument("usage: check_model [--record FILE] MODEL [TEXT]");
  text_record record{.text = arguments.size() == 2 ? text_of(arguments[1]) : std::string(usual_text)};
  print_types(cogen::load::checkpoint(arguments[0]));
  const auto begin = std::chrono::steady_clock::now();
  const auto model = cogen::load_model(arguments[0]);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  fmt::print("loaded   in {:.1f} s\n", time.count());
  if (!model->has_tokenizer()) throw std::runtime_error(fmt::format("{}: has no tokenizer", arguments[0]));
  cogen::engine engine(model);
  asio::io_context context;
  asio::co_spawn(context, run(engine, *model, record), example::rethrow);
  context.run();
  print_memory(*model);
  if (!recorded.empty()) write(record, recorded);
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
