#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>

namespace {

cogen::net::awaitable<void> answer(cogen::engine& engine, const cogen::prompt& prompt, cogen::completion& result) {
  result = co_await engine.generate({.prompt = prompt, .max_tokens = 8}).async_complete();
}

}  // namespace

// Loads the model named on the command line and generates a few tokens, as a program outside the repository would: an
// answer of a chat model on the CPU, or what follows a few tokens on the device named after the model.
int main(int count, char** arguments) {
  const std::vector<cogen::token> tokens{1, 2, 3};
  const auto prompt = count > 2 ? cogen::prompt(tokens) : cogen::prompt(cogen::chat("Say hello."));
  cogen::engine engine(cogen::load_model(arguments[1], {.device = count > 2 ? arguments[2] : "cpu"}));
  cogen::net::io_context context;
  cogen::completion result;
  std::exception_ptr diagnostics;
  co_spawn(context, answer(engine, prompt, result), [&](std::exception_ptr thrown) { diagnostics = thrown; });
  context.run();
  if (diagnostics) std::rethrow_exception(diagnostics);
  std::cout << result.tokens.size() << " tokens: " << result.text << '\n';
  return result.tokens.empty() ? 1 : 0;
}
