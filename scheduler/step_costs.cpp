#include "step_costs.hpp"

#include "step_class.hpp"

#include <algorithm>

namespace cogen::scheduler {
namespace {

constexpr double newest_share = 1. / 4;

}  // namespace

void step_costs::took(std::int64_t tokens, std::chrono::nanoseconds time) {
  ++steps_;
  step_class& bucket = classes_[class_of(tokens, classes_.size())];
  const double share = is_known(bucket) ? newest_share : 1;
  bucket.tokens += share * (static_cast<double>(tokens) - bucket.tokens);
  bucket.time += share * (static_cast<double>(time.count()) - bucket.time);
  bucket.newest = steps_;
}

std::int64_t step_costs::tokens_within(std::chrono::nanoseconds limit) const {
  const auto most = static_cast<double>(limit.count());
  const step_class* below = nullptr;
  const step_class* above = nullptr;
  for (const step_class& bucket : classes_) {
    if (!is_known(bucket)) continue;
    if (bucket.time > most) {
      above = &bucket;
      break;
    }
    below = &bucket;
  }
  if (!below && !above) return 0;
  if (below && above) {
    const double part = (most - below->time) / (above->time - below->time);
    return static_cast<std::int64_t>(below->tokens + part * (above->tokens - below->tokens));
  }
  const step_class& nearest = below ? *below : *above;
  return static_cast<std::int64_t>(std::min(nearest.tokens * most / std::max(nearest.time, 1.), 1e9));
}

}  // namespace cogen::scheduler
