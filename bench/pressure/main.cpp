// What is left of the speed when memory is short, what unknown lengths cost, and what a slow reader does.
#include "conversations.hpp"
#include "lengths.hpp"
#include "streams.hpp"

#include <cogen/load_model.hpp>

#include <fmt/format.h>

namespace pressure {
namespace {

int run(const settings& wanted) {
  cogen::load_options loading;
  loading.threads = wanted.threads;
  const auto model = cogen::load_model(wanted.model, loading);
  const auto runs = [&](std::string_view part) { return wanted.only.empty() || wanted.only == part; };
  if (runs("conversations")) run_conversations(model, wanted);
  if (runs("lengths")) run_lengths(model, wanted);
  if (runs("streams")) run_streams(model, wanted);
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
