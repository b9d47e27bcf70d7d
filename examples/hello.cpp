//[hello
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <stdexcept>

namespace asio = boost::asio;

asio::awaitable<void> answer(cogen::engine& engine, std::string prompt) {
  auto stream = engine.generate({.prompt = cogen::chat(std::move(prompt)), .max_tokens = 64});
  while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
  fmt::print("\n");
}

int main(int argc, char** argv) try {
  if (argc < 2) throw std::invalid_argument("usage: hello MODEL");
  cogen::engine engine(cogen::load_model(argv[1]));
  asio::io_context context;
  asio::co_spawn(context, answer(engine, "What is the capital of France?"), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
//]
