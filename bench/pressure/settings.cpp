#include "settings.hpp"

#include "default_model.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <iostream>
#include <stdexcept>

namespace pressure {

namespace po = boost::program_options;

std::optional<settings> parse(int argc, char** argv) {
  settings wanted{};
  po::options_description options(
      "Measures what is left of the speed where conversations share memory for a few of them, what it brings to set "
      "memory aside as requests grow, and what one of sixteen streams costs that is not read. Fails where a token "
      "differs from what is said alone.\n\nOptions");
  auto add = options.add_options();
  add("help", "show this and end");
  add("model", po::value(&wanted.model)->default_value(bench::default_model()), "a GGUF file or a Hugging Face folder");
  add("conversations", po::value(&wanted.conversations)->default_value(32), "how many at the same time; and requests");
  add("room", po::value(&wanted.room)->default_value(4), "how many of them memory is for");
  add("turns", po::value(&wanted.turns)->default_value(3), "of each conversation");
  add("said", po::value(&wanted.said)->default_value(32), "tokens said to the model in a turn");
  add("answered", po::value(&wanted.answered)->default_value(16), "tokens it answers");
  add("think-ms", po::value(&wanted.think_ms)->default_value(2000),
      "mean time before a turn; more of it, and fewer want memory at once");
  add("idle-timeout-ms", po::value(&wanted.idle_timeout_ms)->default_value(50), "engine_options.policies.idle_timeout");
  add("stream-tokens", po::value(&wanted.stream_tokens)->default_value(64),
      "length of each stream beside the slow one; and of answers, on average");
  add("rounds", po::value(&wanted.rounds)->default_value(3), "runs of each, by turns, the second round backwards");
  add("threads", po::value<int>()->notifier([&](int threads) { wanted.threads = threads; }),
      "that compute; all if not given");
  add("only", po::value(&wanted.only)->default_value(""), "conversations, lengths or streams; all if not given");
  add("trace", po::value(&wanted.trace)->default_value(""),
      "a file for a trace of the last conversations that swapped out, for chrome://tracing, ui.perfetto.dev and "
      "bench/timeline/plot.py");
  add("quick", po::bool_switch(&wanted.quick), "one round of shorter ones");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) return std::cout << options, std::nullopt;
  if (wanted.quick) wanted.turns = 2, wanted.answered = 6, wanted.stream_tokens = 24, wanted.rounds = 1;
  if (std::min({wanted.conversations, wanted.room, wanted.turns, wanted.said, wanted.answered, wanted.rounds}) < 1)
    throw std::invalid_argument("every count must be at least 1");
  if (wanted.stream_tokens <= ahead)
    throw std::invalid_argument("--stream-tokens is " + std::to_string(wanted.stream_tokens) + "; it must be above " +
                                std::to_string(ahead) + ", the buffer size");
  if (wanted.only != "" && wanted.only != "conversations" && wanted.only != "lengths" && wanted.only != "streams")
    throw std::invalid_argument("--only is " + wanted.only + "; it must be conversations, lengths or streams");
  if (std::min(wanted.think_ms, wanted.idle_timeout_ms) < 0) throw std::invalid_argument("times must be at least 0");
  return wanted;
}

}  // namespace pressure
