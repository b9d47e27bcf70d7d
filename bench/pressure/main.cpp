// What is left of the speed when memory is short, and when a reader is slow.
#include "conversations.hpp"
#include "streams.hpp"

#include <cogen/load_model.hpp>

#include <fmt/format.h>

namespace pressure {
namespace {

int run(const settings& wanted) {
  cogen::load_options loading;
  loading.threads = wanted.threads;
  const auto model = cogen::load_model(wanted.model, loading);
  if (wanted.only != "streams") run_conversations(model, wanted);
  if (wanted.only != "conversations") run_streams(model, wanted);
  return 0;
}

}  // namespace
}  // namespace pressure

int main(int argc, char** argv) try {
  const auto wanted = pressure::parse(argc, argv);
  return wanted ? pressure::run(*wanted) : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "pressure: {}\n", e.what());
  return 1;
}
