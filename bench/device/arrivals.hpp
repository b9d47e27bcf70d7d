#pragma once

#include "settings.hpp"

#include <cogen/model.hpp>

#include <memory>

namespace cogen::bench {

/// Has requests arrive as a Poisson process of `rate` a second, the same times for each rate but for its scale, and
/// prints their waits and how many a second kept to the limits.
void measure_arrivals(const std::shared_ptr<const model>& lm, double rate, const settings& wanted);

}  // namespace cogen::bench
