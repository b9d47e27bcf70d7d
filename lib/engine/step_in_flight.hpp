#pragma once

#include <cogen/extend/runner.hpp>
#include <cogen/metrics.hpp>

namespace cogen::detail {

/// A step from its planning to its absorption, with what the event sink gets to know of it.
struct step_in_flight : step {
  using step::step;

  step_event event{};  ///< complete once the step has been executed
};

}  // namespace cogen::detail
