// Seconds until the first token of a conversation's first turn, its second turn, another conversation with the same
// system prompt, a text, another text that parts from it at three quarters, and a third turn of the conversation in
// another engine that finds what the first one stored. A JSON object a line.
#include "default_model.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

namespace net = boost::asio;
namespace po = boost::program_options;
using cogen::token;
using tokens = std::vector<token>;

struct settings {
  std::string model, compute_type, directory;
  int system, message, answer, text;
  std::optional<std::int64_t> checkpoint_bytes;
  std::optional<int> checkpoint_interval;
};

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options("Measures what turns of a conversation find in the prefix cache.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("compute-type", po::value(&wanted.compute_type)->default_value("int8"), "int8 or float32");
  add("directory", po::value(&wanted.directory)->required(), "where prefixes are stored between engines");
  add("system", po::value(&wanted.system)->default_value(1024), "tokens of the system prompt");
  add("message", po::value(&wanted.message)->default_value(128), "tokens of each message");
  add("answer", po::value(&wanted.answer)->default_value(32), "tokens of each answer");
  add("text", po::value(&wanted.text)->default_value(4096), "tokens of each text");
  add("checkpoint-bytes", po::value<std::int64_t>()->notifier([&](auto bytes) { wanted.checkpoint_bytes = bytes; }),
      "engine_options.kv.checkpoint_bytes");
  add("checkpoint-interval", po::value<int>()->notifier([&](int tokens) { wanted.checkpoint_interval = tokens; }),
      "engine_options.kv.checkpoint_interval");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  if (given.contains("help")) {
    std::cout << options;
    return std::nullopt;
  }
  po::notify(given);
  if (wanted.compute_type != "int8" && wanted.compute_type != "float32")
    throw std::invalid_argument("--compute-type: there are int8 and float32");
  if (wanted.system < 2 || wanted.message < 2 || wanted.answer < 1 || wanted.text < 4)
    throw std::invalid_argument("--system and --message must be at least 2, --answer at least 1, --text at least 4");
  return wanted;
}

/// The same ids as bench/peers/turns.py makes; the last ends the message.
tokens message(int number, int length, token end) {
  tokens ids;
  for (int j = 0; j < length - 1; ++j) ids.push_back((number * 1009 + j * 131 + 17) % 40'000 + 64);
  ids.push_back(end);
  return ids;
}

class conversation {
 public:
  conversation(const settings& wanted, token end) : wanted_(wanted), end_(end) {}

  void say(int number, int length) {
    const auto more = message(number, length, end_);
    held_.insert(held_.end(), more.begin(), more.end());
  }

  /// `length` tokens of a text, which go on for what is left of the last quarter with others of `number`.
  void write(int number, int length) {
    held_ = message(6, length, end_);
    const auto tail = message(number, length, end_);
    std::copy(tail.begin() + length / 4 * 3, tail.end() - 1, held_.begin() + length / 4 * 3);
    held_.pop_back();
  }

  /// Generates an answer and prints when its first token was there.
  net::awaitable<void> answer(cogen::engine& engine, std::string phase) {
    const auto start = std::chrono::steady_clock::now();
    auto stream =
        engine.generate({.prompt = cogen::token_ids(held_), .max_tokens = wanted_.answer, .ignore_eos = true});
    std::chrono::duration<double> first{};
    tokens given;
    while (const auto piece = co_await stream.async_next()) {
      if (given.empty()) first = std::chrono::steady_clock::now() - start;
      for (const auto& each : piece->tokens) given.push_back(each.id);
    }
    fmt::print("{{\"phase\": \"{}\", \"prompt\": {}, \"cached\": {}, \"first_token\": {:.4f}, \"tokens\": [{}]}}\n",
               phase, held_.size(), stream.usage().cached_tokens, first.count(), fmt::join(given, ", "));
    std::fflush(stdout);
    held_.insert(held_.end(), given.begin(), given.end());
    held_.push_back(end_);
  }

 private:
  const settings& wanted_;
  const token end_;
  tokens held_;
};

cogen::engine_options options_of(const settings& wanted) {
  cogen::engine_options options;
  options.batching.slots = 2;
  options.kv.prefix_cache_directory = wanted.directory;
  options.kv.checkpoint_bytes = wanted.checkpoint_bytes;
  options.kv.checkpoint_interval = wanted.checkpoint_interval;
  options.limits.max_sequence_length =
      std::max(wanted.system + 8 * (wanted.message + wanted.answer), wanted.text + wanted.answer);
  options.compute_type = wanted.compute_type == "int8" ? cogen::compute_type::int8 : cogen::compute_type::float32;
  return options;
}

void run(const settings& wanted) {
  std::filesystem::create_directories(wanted.directory);
  const std::shared_ptr<const cogen::model> model = cogen::load_model(wanted.model);
  const token end = model->tokenizer().eos().front();
  net::io_context context;
  const auto wait_for = [&](net::awaitable<void> done) {
    auto future = net::co_spawn(context, std::move(done), net::use_future);
    context.restart();
    context.run();
    future.get();
  };
  conversation chat(wanted, end), other(wanted, end), text(wanted, end);
  {
    cogen::engine engine(model, options_of(wanted));
    chat.say(1, wanted.system);
    chat.say(2, wanted.message);
    wait_for(chat.answer(engine, "first turn"));
    chat.say(3, wanted.message);
    wait_for(chat.answer(engine, "second turn"));
    other.say(1, wanted.system);
    other.say(4, wanted.message);
    wait_for(other.answer(engine, "other conversation"));
    text.write(6, wanted.text);
    wait_for(text.answer(engine, "a text"));
    text.write(7, wanted.text);
    wait_for(text.answer(engine, "parted text"));
  }
  cogen::engine engine(model, options_of(wanted));
  chat.say(5, wanted.message);
  wait_for(chat.answer(engine, "after a restart"));
}

}  // namespace

int main(int argc, char** argv) try {
  if (const auto wanted = parse(argc, argv)) run(*wanted);
  return 0;
} catch (const std::exception& e) {
  std::cerr << "turns: " << e.what() << '\n';
  return 1;
}
