#pragma once

#include "metrics/meter.hpp"
#include "options.hpp"

#include <cogen/metrics.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace server::metrics {

/// A model's figures at one moment.
struct snapshot {
  std::string model;
  cogen::engine_stats stats;
  counts counted;
  int slots = 0;
  std::int64_t cache_capacity = 0;  ///< bytes that its caches may take
};

/// The figures of models in Prometheus' text format, with the names of cogen, vLLM or llama.cpp's server. Source:
/// https://prometheus.io/docs/instrumenting/exposition_formats.
std::string exposition(std::span<const snapshot> models, metrics_names names);

}  // namespace server::metrics
