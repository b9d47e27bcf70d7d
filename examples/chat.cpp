// A conversation in the terminal. Ctrl-D ends it.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <iostream>

namespace asio = boost::asio;

//[chat
asio::awaitable<void> converse(cogen::engine& engine) {
  std::vector<cogen::chat_message> messages;
  std::string line;
  while (fmt::print("> "), std::fflush(stdout), std::getline(std::cin, line)) {
    messages.push_back({"user", line});
    auto stream = engine.generate({.prompt = messages, .max_tokens = 200});
    std::string answer;
    while (auto piece = co_await stream.async_next()) {
      fmt::print("{}", piece->text);
      std::fflush(stdout);
      answer += piece->text;
    }
    fmt::print("\n");
    messages.push_back({"assistant", answer});
  }
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)), {.batching = {.slots = 1}});
  asio::io_context context;
  asio::co_spawn(context, converse(engine), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
