#pragma once

#include "meter.hpp"

#include <cogen/engine.hpp>

#include <functional>
#include <string>
#include <vector>

namespace overhead {

/// What an engine runs while it is measured.
struct workload {
  std::string name;
  std::vector<int> requests;  ///< at the same time, one number for each measurement
  cogen::sampling_params sampling;
  std::function<cogen::engine_parts(int requests)> make;
  int idle = 0;  ///< further streams with slots, which nothing reads; then there is no run beside a thread
};

struct effort {
  int steps;   ///< of one round
  int rounds;  ///< of which the median is reported
};

/// Of one step.
struct measurement {
  int requests;
  costs parts;
  double own_thread;  ///< nanoseconds between two launches on an engine's own thread
  double processor;   ///< nanoseconds of processor time of the thread that reads beside it
};

/// Steps in which every request decodes. Readers are coroutines on an io_context: first on the thread that drives the
/// engine, after each of its steps; then on a thread beside the engine's own, where a launch takes until all have read.
measurement measure(const workload& load, int requests, const effort& amount, meter& with);

/// Least squares of relative errors: `first + slope * requests`.
struct line {
  double first;
  double slope;
};
line fitted(const std::vector<std::pair<double, double>>& points);

}  // namespace overhead
