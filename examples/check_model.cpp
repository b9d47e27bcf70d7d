// check_model MODEL [FILE]: whether a model that was fetched or converted is sound, on one page. How its weights are
// stored, how a text (of a file) becomes tokens and how much it surprises the model, an answer, memory and speed.
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load/checkpoint.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
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

std::string text_of(const char* path) {
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

/// Of a text by itself, and how fast it was read.
asio::awaitable<void> print_perplexity(cogen::engine& engine, std::vector<cogen::token> tokens) {
  auto stream = engine.generate({.prompt = cogen::token_ids(std::move(tokens)), .max_tokens = 1, .prompt_logprobs = 0});
  co_await stream.async_complete();
  double sum = 0;
  for (const auto& each : stream.prompt_logprobs()) sum += each.logprob;
  const auto count = static_cast<double>(stream.usage().prompt_tokens);
  const std::chrono::duration<double> time = stream.usage().time_to_first_token;
  fmt::print("text     perplexity {:.2f}, {:.0f} tokens a second\n", std::exp(-sum / std::max(count - 1, 1.0)),
             count / time.count());
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

asio::awaitable<void> run(cogen::engine& engine, const cogen::model& model, std::string text) {
  auto tokens = model.tokenizer().encode(text);
  print_tokens(model.tokenizer(), tokens);
  tokens.resize(std::min(tokens.size(), max_tokens_read));
  co_await print_perplexity(engine, std::move(tokens));
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
  if (argc < 2) throw std::invalid_argument("usage: check_model MODEL [FILE]");
  const std::string text = argc > 2 ? text_of(argv[2]) : std::string(usual_text);
  print_types(cogen::load::checkpoint(argv[1]));
  const auto begin = std::chrono::steady_clock::now();
  const auto model = cogen::load_model(argv[1]);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  fmt::print("loaded   in {:.1f} s\n", time.count());
  if (!model->has_tokenizer()) throw std::runtime_error(fmt::format("{}: has no tokenizer", argv[1]));
  cogen::engine engine(model);
  asio::io_context context;
  asio::co_spawn(context, run(engine, *model, text), example::rethrow);
  context.run();
  print_memory(*model);
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
