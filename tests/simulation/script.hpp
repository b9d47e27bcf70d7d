#pragma once

#include "simulation/random.hpp"

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace cogen::simulation {

/// Receives what happens, line by line; may be empty.
using log = std::function<void(const std::string&)>;

/// One history. All of it is sampled from the seed, and each action from numbers of its own: where one is left out, the
/// others sample what they would have sampled.
struct script {
  std::uint64_t seed = 0;
  std::vector<int> actions;  ///< those that are run, in order, of those that the seed has
};

inline script whole_script(std::uint64_t seed, int actions) {
  script result{seed, std::vector<int>(static_cast<std::size_t>(actions))};
  std::iota(result.actions.begin(), result.actions.end(), 0);
  return result;
}

/// What the action of this number samples from; the end of a history is its action -1.
inline random numbers_of(std::uint64_t seed, int action) {
  random mixed(seed ^ 0xd6e8feb86659fd93 * static_cast<std::uint64_t>(action + 2));
  return random(mixed.next());
}

}  // namespace cogen::simulation
