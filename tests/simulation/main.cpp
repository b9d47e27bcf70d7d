#include "simulation/campaign.hpp"
#include "simulation/history.hpp"

#include <exception>
#include <iostream>

namespace {

using namespace cogen::scheduler::simulate;

constexpr std::uint64_t enough_to_visit_all = 20'000;

int replay(std::uint64_t seed) {
  coverage seen;
  try {
    play(seed, seen, [](const std::string& line) { std::cout << line << '\n'; });
  } catch (const std::exception& e) {
    std::cout << "FAILED: " << e.what() << std::endl;
    return 1;
  }
  std::cout << "seed " << seed << " keeps the contract" << std::endl;
  return 0;
}

int campaign(const options& asked) {
  const auto result = run_campaign(asked);
  if (result.failure) {
    std::cout << "seed " << result.failure->seed << " FAILED: " << result.failure->why << "\nits history:\n";
    return replay(result.failure->seed);
  }
  const bool visited = result.seen.report(std::cout);
  std::cout << result.played << " histories from seed " << asked.first << " keep the contract" << std::endl;
  return visited || asked.seeds < enough_to_visit_all ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
  const auto asked = parse(count, arguments);
  if (asked.help) {
    std::cout << usage;
    return 0;
  }
  return asked.replay ? replay(*asked.replay) : campaign(asked);
} catch (const std::exception& e) {
  std::cerr << "simulate: " << e.what() << '\n';
  return 2;
}
