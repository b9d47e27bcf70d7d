#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>

namespace {

cogen::net::awaitable<void> answer(cogen::engine& engine, std::string& text) {
  auto stream = engine.generate({.prompt = cogen::chat("Say hello."), .max_tokens = 8});
  while (auto piece = co_await stream.async_next()) text += piece->text;
}

}  // namespace

// Loads the model named on the command line, to the device named after it, and generates a few tokens, as a program
// outside the repository would.
int main(int count, char** arguments) {
  cogen::engine engine(cogen::load_model(arguments[1], {.device = count > 2 ? arguments[2] : "cpu"}));
  cogen::net::io_context context;
  std::string text;
  std::exception_ptr diagnostics;
  co_spawn(context, answer(engine, text), [&](std::exception_ptr thrown) { diagnostics = thrown; });
  context.run();
  if (diagnostics) std::rethrow_exception(diagnostics);
  std::cout << text << '\n';
  return text.empty() ? 1 : 0;
}
