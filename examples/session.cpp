// A conversation that is saved when it ends, and goes on the next time without reading again what was said.
#include "model_path.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>
#include <cogen/text/tokenizer.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>

namespace asio = boost::asio;

constexpr std::string_view usage =
    "usage: session [--help] [--forget] [FILE] [MODEL]\n\n"
    "A conversation in the terminal; Ctrl-D ends it. It is saved to FILE (conversation.session), and goes on from\n"
    "there the next time; --forget begins a new one. MODEL is a GGUF file or a folder.\n";

/// What the template makes of one more message of the user: after a message of the system where nothing is `previous`,
/// else after an answer, to whose end the template may add what the model did not say.
std::vector<cogen::token> said(const cogen::model& model, const std::string& line,
                               std::span<const cogen::token> previous) {
  const auto& chat = *model.chat();
  std::vector<cogen::chat_message> messages{{"system", "You are a helpful assistant."}};
  std::size_t known = 0;
  if (!previous.empty()) {
    messages.push_back({"user", "?"});
    known = chat.render(messages).size() + 1;
    messages.push_back({"assistant", "!"});
  }
  messages.push_back({"user", line});
  auto segments = chat.render_segments(messages);
  for (auto& each : segments) {
    const auto cut = std::min(known, each.text.size());
    each.text.erase(0, cut);
    known -= cut;
  }
  auto tokens = model.tokenizer().encode(segments, {.parse_special = true});
  if (!previous.empty() && !tokens.empty() && tokens.front() == previous.back()) tokens.erase(tokens.begin());
  return tokens;
}

asio::awaitable<void> answer(cogen::sequence& talk, const cogen::model& model, std::vector<cogen::token> fed) {
  const auto ends = model.tokenizer().eos();
  cogen::text::detokenizer text(model.tokenizer());
  for (int count = 0; count < 200; ++count) {
    const auto next = co_await talk.async_decode(fed);
    if (std::ranges::find(ends, next.id) != ends.end()) break;
    fmt::print("{}", text.push(next.id));
    std::fflush(stdout);
    fed.clear();
  }
  fmt::print("{}\n", text.flush());
}

//[session
asio::awaitable<void> converse(cogen::engine& engine, const cogen::model& model, std::string file) {
  std::optional<cogen::sequence> talk;
  if (std::filesystem::exists(file))
    talk.emplace(co_await engine.async_load_session(std::filesystem::path(file)));
  else
    talk.emplace(engine.open());
  const auto restored_tokens = talk->tokens().size();
  if (restored_tokens > 0) fmt::print("{} goes on after {} tokens\n", file, restored_tokens);

  std::string line;
  while (fmt::print("> "), std::fflush(stdout), std::getline(std::cin, line))
    co_await answer(*talk, model, said(model, line, talk->tokens()));
  co_await talk->async_save(file);
  fmt::print("\n{} holds {} tokens; {} were run this time\n", file, talk->tokens().size(), engine.stats().tokens);
}
//]

int main(int argc, char** argv) try {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::ranges::find(arguments, "--help") != arguments.end()) return fmt::print("{}", usage), 0;
  const bool forget = std::erase(arguments, "--forget") > 0;
  const std::string file = arguments.empty() ? "conversation.session" : arguments[0];
  if (forget) std::filesystem::remove(file);
  const auto model =
      cogen::load_model(arguments.size() > 1 ? std::filesystem::path(arguments[1]) : example::default_model());
  if (!model->chat()) throw std::runtime_error("the model brings no chat template");
  cogen::engine engine(model, {.batching = {.slots = 1}});
  asio::io_context context;
  auto done = asio::co_spawn(context, converse(engine, *model, file), asio::use_future);
  context.run();
  done.get();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
