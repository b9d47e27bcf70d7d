#pragma once

#include "simulation/campaign.hpp"
#include "simulation/shrink.hpp"

#include <functional>

namespace cogen::simulation {

/// What is run, and its name.
template <class Coverage>
struct program {
  const char* name;
  const char* about;  ///< what meets what in these histories

  /// How many actions the history of a seed has.
  std::function<int(std::uint64_t seed)> actions;

  /// Throws std::exception with a message where something broke its contract.
  std::function<void(const script& script, Coverage& seen, const log& received)> play;

  /// Whether many histories must visit all that there is to visit.
  bool visits_all = true;
};

/// A script without the actions that its failure does not need.
template <class Coverage>
script shortest_failing(const program<Coverage>& subject, const script& failing) {
  const auto fails = [&](const std::vector<int>& actions) {
    Coverage unseen;
    try {
      subject.play({failing.seed, actions}, unseen, {});
    } catch (const std::exception&) {
      return true;
    }
    return false;
  };
  return {failing.seed, shrunk(failing.actions, fails)};
}

/// The command line of a simulation, from its arguments to its exit status.
template <class Coverage>
class command {
 public:
  command(const program<Coverage>& subject, const options& asked) : program_(subject), asked_(asked) {}

  int run() const {
    if (asked_.help) {
      std::cout << usage(program_.name, program_.about);
      return 0;
    }
    return asked_.replay ? replay(asked_script(*asked_.replay)) : play_all();
  }

 private:
  static constexpr std::uint64_t enough_to_visit_all = 10'000;

  script whole(std::uint64_t seed) const { return whole_script(seed, program_.actions(seed)); }

  script asked_script(std::uint64_t seed) const {
    return asked_.actions.empty() ? whole(seed) : script{seed, asked_.actions};
  }

  int replay(const script& script) const {
    Coverage seen;
    try {
      program_.play(script, seen, [](const std::string& line) { std::cout << line << '\n'; });
    } catch (const std::exception& e) {
      std::cout << "FAILED: " << e.what() << std::endl;
      return 1;
    }
    std::cout << "seed " << script.seed << " keeps the contract" << std::endl;
    return 0;
  }

  int play_all() const {
    const auto play = [this](std::uint64_t seed, Coverage& seen) { program_.play(whole(seed), seen, {}); };
    const auto result = campaign<Coverage, decltype(play)>(asked_, play).run();
    if (result.diagnostics) return tell(*result.diagnostics);
    const bool visited = result.seen.report(std::cout);
    std::cout << result.played << " histories from seed " << asked_.first << " keep the contract" << std::endl;
    return visited || !program_.visits_all || asked_.seeds < enough_to_visit_all ? 0 : 1;
  }

  int tell(const failed_history& diagnostics) const {
    const auto full = whole(diagnostics.seed);
    std::cout << "seed " << diagnostics.seed << " FAILED: " << diagnostics.why << std::endl;
    const auto rest = shortest_failing(program_, full);
    std::cout << "fewer actions fail as well, " << rest.actions.size() << " of " << full.actions.size() << ": --seed "
              << diagnostics.seed << " --actions ";
    for (std::size_t i = 0; i < rest.actions.size(); ++i) std::cout << (i > 0 ? "," : "") << rest.actions[i];
    std::cout << "\ntheir history:\n";
    replay(rest);
    return 1;
  }

  const program<Coverage>& program_;
  const options& asked_;
};

template <class Coverage>
int main_of(const program<Coverage>& subject, int count, char** arguments) try {
  const auto asked = parse(count, arguments);
  return command<Coverage>(subject, asked).run();
} catch (const std::exception& e) {
  std::cerr << subject.name << ": " << e.what() << '\n';
  return 2;
}

}  // namespace cogen::simulation
