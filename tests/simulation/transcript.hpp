#pragma once

#include "simulation/script.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::simulation {

/// All that anyone observes but the tokens: plans, events, times.
class transcript {
 public:
  simulation::log writer() {
    return [this](const std::string& line) { lines_.push_back(line); };
  }

  /// Throws std::logic_error where the other one goes on in another way.
  void require_same(const transcript& other) const {
    const auto [ours, theirs] = std::ranges::mismatch(lines_, other.lines_);
    if (ours != lines_.end() || theirs != other.lines_.end())
      throw std::logic_error(
          "what a tenant's tokens are changes what happens: " + (ours == lines_.end() ? "nothing" : *ours) +
          " became " + (theirs == other.lines_.end() ? "nothing" : *theirs));
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace cogen::simulation
