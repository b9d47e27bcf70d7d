// What each cache kind costs and what it forgets: one measurement a call.
#include "measurements.hpp"

#include <cogen/load_model.hpp>

#include <fmt/format.h>

#include <map>

namespace {

int measure(const curves::settings& given) {
  static const std::map<std::string, void (*)(const cogen::model&, const curves::settings&)> measurements{
      {"perplexity", curves::perplexity}, {"memory", curves::memory},   {"latency", curves::latency},
      {"retrieval", curves::retrieval},   {"endless", curves::endless}, {"free", curves::free_running},
      {"windows", curves::print_windows},
  };
  cogen::load_options loading;
  loading.threads = given.threads;
  const auto model = cogen::load_model(given.model, loading);
  measurements.at(given.measurement)(*model, given);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto given = curves::parse(argc, argv);
  return given ? measure(*given) : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "cache_curves: {}\n", e.what());
  return 1;
}
