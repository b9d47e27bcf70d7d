// mpirun -n N several_processes MODEL N: one answer of a model that N processes share.
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <cstdlib>

namespace asio = boost::asio;

asio::awaitable<void> answer(cogen::engine& engine) {
  auto stream = engine.generate({.prompt = cogen::chat("What is the capital of France?"), .max_tokens = 32});
  while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
  fmt::print("\n");
}

int main(int argc, char** argv) try {
  if (argc < 2) throw std::invalid_argument("usage: several_processes MODEL [RANKS]");
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 2;
  const cogen::engine_options options{.batching = {.slots = 4}};
  //[split
  const auto model = cogen::load_model(argv[1], {.parallel = {.tensor = ranks}});
  if (model->rank() > 0) {  // returns when rank 0's engine has ended
    cogen::run_worker(model, options);
    return 0;
  }
  cogen::engine engine(model, options);
  //]
  asio::io_context context;
  asio::co_spawn(context, answer(engine), example::rethrow);
  context.run();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "several_processes: {}\n", error.what());
  return 1;
}
