// Tokens a second with and without draft tokens, on text that repeats itself and in ordinary chat, for several numbers
// of streams, while all of them decode. Both are measured in turn, in one engine, and the gain is the median over the
// pairs, between its quartiles: what slows the machine down for a while slows both. So is the gain by processor time,
// which other programs do not change as much. A JSON object a line.
#include "command_line.hpp"
#include "default_model.hpp"

#include <cogen/drafter.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace net = boost::asio;
namespace po = boost::program_options;

struct settings {
  std::string model, text;
  std::vector<int> streams;
  int tokens, drafts, repetitions;
};

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options("Measures what draft tokens gain.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("streams", po::value(&wanted.streams)->multitoken()->default_value({1, 4, 8, 32}, "1 4 8 32"), "at a time");
  add("tokens", po::value(&wanted.tokens)->default_value(192), "that each stream generates");
  add("drafts", po::value(&wanted.drafts)->default_value(8), "max_draft_tokens");
  add("repetitions", po::value(&wanted.repetitions)->default_value(5), "pairs of measurements");
  add("text", po::value(&wanted.text)->default_value("both"), "repetitive, chat or both");
  if (!read_command_line(argc, argv, options)) return std::nullopt;
  if (wanted.tokens < 1 || wanted.drafts < 1 || wanted.repetitions < 1)
    throw std::invalid_argument("--tokens, --drafts and --repetitions must be at least 1");
  if (wanted.text != "repetitive" && wanted.text != "chat" && wanted.text != "both")
    throw std::invalid_argument("--text is " + wanted.text + "; it must be repetitive, chat or both");
  return wanted;
}

/// A record that the model copies on and on.
cogen::request repetitive(int number) {
  std::string record;
  for (int i = 0; i < 6; ++i)
    record +=
        fmt::format("item {}: name = \"part {}\", price = {}.50, in stock = yes\n", i + number, 7 * i + number, i);
  return {.prompt = record + "\n" + record + "\n" + record + "\n"};
}

cogen::request chat(int number) {
  static const std::vector<std::string> questions{"Why is the sky blue?",
                                                  "Write a short story about a lighthouse keeper.",
                                                  "How do I make sourdough bread?",
                                                  "What should I see in Lisbon in two days?",
                                                  "Explain how a bicycle stays up.",
                                                  "Give me advice for a job interview.",
                                                  "Why did the Roman Empire fall?",
                                                  "Describe your favorite season."};
  return {.prompt = cogen::chat(questions[static_cast<std::size_t>(number) % questions.size()]),
          .sampling = {.temperature = 0.7, .top_p = 0.95, .seed = static_cast<std::uint64_t>(number)}};
}

/// What streams do while all of them decode: from the first token of the last one to the end of the first one.
class decoding {
 public:
  explicit decoding(int streams) : without_tokens_(streams) {}

  void generated(int tokens, bool is_first) {
    if (ended_) return;
    if (without_tokens_ == 0) tokens_ += tokens;
    if (is_first && --without_tokens_ == 0) begin_ = now(), processor_begin_ = processor();
  }

  void ended() {
    if (ended_) return;
    ended_ = true;
    seconds_ = now() - begin_;
    processor_seconds_ = processor() - processor_begin_;
  }

  double tokens_per_second() const { return tokens_ / seconds_; }
  double tokens_per_processor_second() const { return tokens_ / processor_seconds_; }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  static double processor() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }  // of all threads

  int without_tokens_;  // streams
  int tokens_ = 0;
  bool ended_ = false;
  double begin_ = 0, processor_begin_ = 0, seconds_ = 0, processor_seconds_ = 0;
};

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

struct measured {
  decoding totals;
  cogen::usage drafts = {};  // of all streams
};

net::awaitable<void> read(cogen::token_stream& stream, decoding& totals) {
  bool is_first = true;
  while (const auto piece = co_await stream.async_next(net::use_awaitable)) {
    totals.generated(static_cast<int>(piece->tokens.size()), is_first);
    is_first = false;
  }
  totals.ended();
}

measured serve(cogen::engine& engine, int streams, cogen::request (*ask)(int), const settings& wanted,
               const std::shared_ptr<cogen::drafter>& drafter) {
  net::io_context context;
  std::vector<cogen::token_stream> running;
  measured result{decoding(streams)};
  for (int i = 0; i < streams; ++i) {
    auto request = ask(i);
    request.max_tokens = wanted.tokens;
    request.ignore_eos = true;
    request.speculative = {.drafter = drafter, .max_draft_tokens = wanted.drafts};
    running.push_back(engine.generate(std::move(request)));
  }
  for (auto& each : running) net::co_spawn(context, read(each, result.totals), rethrow);
  context.run();
  for (const auto& each : running) {
    result.drafts.draft_tokens += each.usage().draft_tokens;
    result.drafts.accepted_draft_tokens += each.usage().accepted_draft_tokens;
  }
  return result;
}

double median_of(std::vector<double> values, double share = 0.5) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

void compare(const char* text, cogen::request (*ask)(int), int streams, const settings& wanted,
             const std::shared_ptr<const cogen::model>& model) {
  cogen::engine_options options;
  options.batching.slots = streams;
  options.compute_type = cogen::compute_type::int8;
  cogen::engine engine(model, options);
  const auto without = [&] { return serve(engine, streams, ask, wanted, nullptr); };
  const auto with = [&] { return serve(engine, streams, ask, wanted, cogen::prompt_lookup()); };
  without(), with();  // fill caches, and learn the times of steps
  std::vector<double> plain, after, gains, processor_gains;
  cogen::usage drafts;
  for (int i = 0; i < wanted.repetitions; ++i) {
    const bool first = i % 2 == 0;  // it is measured first in every other pair
    auto baseline = first ? without() : with();
    auto other = first ? with() : without();
    if (!first) std::swap(baseline, other);
    plain.push_back(baseline.totals.tokens_per_second());
    after.push_back(other.totals.tokens_per_second());
    gains.push_back(after.back() / plain.back());
    processor_gains.push_back(other.totals.tokens_per_processor_second() /
                              baseline.totals.tokens_per_processor_second());
    drafts = other.drafts;
  }
  const auto shown = [](const std::vector<double>& values) {
    return fmt::format("[{:.3f}, {:.3f}, {:.3f}]", median_of(values, 0.25), median_of(values), median_of(values, 0.75));
  };
  fmt::print(
      "{{\"text\": \"{}\", \"streams\": {}, \"without\": {:.1f}, \"with\": {:.1f}, \"gain\": {}, "
      "\"by processor time\": {}, \"drafts\": {}, \"accepted\": {}}}\n",
      text, streams, median_of(plain), median_of(after), shown(gains), shown(processor_gains), drafts.draft_tokens,
      drafts.accepted_draft_tokens);
  std::cout.flush();
}

}  // namespace

int main(int argc, char** argv) try {
  const auto wanted = parse(argc, argv);
  if (!wanted) return 0;
  const auto model = cogen::load_model(wanted->model);
  for (const int streams : wanted->streams) {
    if (wanted->text != "chat") compare("repetitive", repetitive, streams, *wanted, model);
    if (wanted->text != "repetitive") compare("chat", chat, streams, *wanted, model);
  }
} catch (const std::exception& e) {
  std::cerr << "speculation: " << e.what() << '\n';
  return 2;
}
