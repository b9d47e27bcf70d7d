#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/version.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>

namespace {

cogen::net::awaitable<void> answer(cogen::engine& engine) {
  auto stream = engine.generate({.prompt = cogen::chat("Say hello."), .max_tokens = 8});
  while (auto piece = co_await stream.async_next()) std::cout << piece->text;
  std::cout << '\n';
}

}  // namespace

// Generates a few tokens with the model that is named on the command line; without one it says the version.
int main(int count, char** arguments) {
  std::cout << "cogen " << cogen::version << '\n';
  if (count < 2) return 0;
  cogen::engine engine(cogen::load_model(arguments[1]));
  cogen::net::io_context context;
  co_spawn(context, answer(engine), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  context.run();
}
