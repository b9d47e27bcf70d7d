//[hello
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;

asio::awaitable<void> answer(cogen::engine& engine, std::string prompt) {
  auto stream = engine.generate({.prompt = cogen::chat(std::move(prompt)), .max_tokens = 64});
  while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
  fmt::print("\n");
}

int main(int, char** argv) {
  cogen::engine engine(cogen::load_model(argv[1]));
  asio::io_context context;
  asio::co_spawn(context, answer(engine, "What is the capital of France?"), asio::detached);
  context.run();
}
//]
