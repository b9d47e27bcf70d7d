// Tokens a second with and without draft tokens, on text that repeats itself and in ordinary chat, for several numbers
// of streams. Both are measured in turn, in engines of their own, and the gain is the median over the pairs, with its
// quartiles: what slows the machine down for a while slows both. A JSON object a line.
#include "command_line.hpp"

#include <cogen/drafter.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
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
  add("model", po::value(&wanted.model)->default_value(COGEN_DEFAULT_MODEL), "a GGUF file or a Hugging Face folder");
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

struct measured {
  double tokens_per_second = 0;
  cogen::usage drafts;  // of all streams
};

measured serve(cogen::engine& engine, int streams, cogen::request (*ask)(int), const settings& wanted,
               const std::shared_ptr<cogen::drafter>& drafter) {
  net::io_context context;
  std::vector<cogen::token_stream> running;
  measured result;
  int tokens = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < streams; ++i) {
    auto request = ask(i);
    request.max_tokens = wanted.tokens;
    request.ignore_eos = true;
    request.speculative = {.drafter = drafter, .max_draft_tokens = wanted.drafts};
    running.push_back(engine.generate(std::move(request)));
  }
  for (auto& each : running)
    each.async_complete(net::bind_executor(context, [&](cogen::error_code code, const cogen::completion& whole) {
      if (code) throw std::runtime_error(code.message());
      tokens += whole.usage.generated_tokens;
      result.drafts.draft_tokens += whole.usage.draft_tokens;
      result.drafts.accepted_draft_tokens += whole.usage.accepted_draft_tokens;
    }));
  context.run();
  result.tokens_per_second = tokens / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

double median_of(std::vector<double> values, double share = 0.5) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

void compare(const char* text, cogen::request (*ask)(int), int streams, const settings& wanted,
             const std::shared_ptr<const cogen::model>& model) {
  const auto options = [&] {
    cogen::engine_options made;
    made.batching.slots = streams;
    made.compute_type = cogen::compute_type::int8;
    return made;
  };
  cogen::engine plain(model, options()), drafting(model, options());
  const auto without = [&] { return serve(plain, streams, ask, wanted, nullptr); };
  const auto with = [&] { return serve(drafting, streams, ask, wanted, cogen::prompt_lookup()); };
  without(), with();  // fill caches, and learn the times of steps
  std::vector<double> before, after, gains;
  cogen::usage drafts;
  for (int i = 0; i < wanted.repetitions; ++i) {
    measured one, other;
    if (i % 2 == 0) one = without(), other = with();
    if (i % 2 == 1) other = with(), one = without();
    before.push_back(one.tokens_per_second);
    after.push_back(other.tokens_per_second);
    gains.push_back(after.back() / before.back());
    drafts = other.drafts;
  }
  fmt::print(
      "{{\"text\": \"{}\", \"streams\": {}, \"without\": {:.1f}, \"with\": {:.1f}, \"gain\": {:.3f}, \"quartiles\": "
      "[{:.3f}, {:.3f}], \"drafts\": {}, \"accepted\": {}}}\n",
      text, streams, median_of(before), median_of(after), median_of(gains), median_of(gains, 0.25),
      median_of(gains, 0.75), drafts.draft_tokens, drafts.accepted_draft_tokens);
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
