#pragma once

#include "simulation/coverage.hpp"
#include "simulation/options.hpp"

#include <optional>
#include <string>

namespace cogen::scheduler::simulate {

struct failed_history {
  std::uint64_t seed;
  std::string why;
};

struct campaign_result {
  coverage seen;
  std::uint64_t played = 0;
  std::optional<failed_history> failure;  ///< the one of the lowest seed, of those found
};

/// Plays the histories on several threads, and says on standard error how far it is.
campaign_result run_campaign(const options& asked);

}  // namespace cogen::scheduler::simulate
