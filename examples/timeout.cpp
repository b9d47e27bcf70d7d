// Giving up on a token without losing it, and ending a generation early without losing what it produced.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[timeout
asio::awaitable<void> hurried(cogen::engine& engine) {
  auto stream = engine.generate({.prompt = cogen::chat("Tell me a long story about the sea.")});
  int pieces = 0, waits = 0;
  while (pieces < 24) {
    cogen::error_code code;
    auto piece = co_await stream.async_next_for(5ms, asio::redirect_error(asio::use_awaitable, code));
    if (code == cogen::error::timed_out) {
      ++waits;  // time to look after something else; the next call gets the piece
      continue;
    }
    if (code || !piece) break;
    fmt::print("{}", piece->text);
    ++pieces;
  }
  stream.stop();  // what was generated ahead of us can still be read
  const auto rest = co_await stream.async_complete();
  fmt::print("|{}\n[{} waits timed out; ended: {}]\n", rest.text, waits, to_string(rest.reason));
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  asio::co_spawn(context, hurried(engine), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
