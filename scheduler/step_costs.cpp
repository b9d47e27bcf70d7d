#include "step_costs.hpp"

#include <algorithm>
#include <cmath>

namespace cogen::scheduler {
namespace {

constexpr double newest_share = 1. / 4;

std::size_t class_of(std::int64_t tokens, std::size_t classes) {
  const auto number = std::lround(2 * std::log2(static_cast<double>(std::max<std::int64_t>(tokens, 1))));
  return std::min(static_cast<std::size_t>(number), classes - 1);
}

}  // namespace

void step_costs::took(std::int64_t tokens, std::chrono::nanoseconds time) {
  ++steps_;
  step_class& one = classes_[class_of(tokens, classes_.size())];
  const double share = is_known(one) ? newest_share : 1;
  one.tokens += share * (static_cast<double>(tokens) - one.tokens);
  one.time += share * (static_cast<double>(time.count()) - one.time);
  one.newest = steps_;
}

std::optional<double> step_costs::time_of(std::int64_t tokens) const {
  const auto wanted = static_cast<double>(tokens);
  const step_class* below = nullptr;
  for (const step_class& one : classes_) {
    if (!is_known(one)) continue;
    if (one.tokens > wanted) {
      if (!below) return one.time * wanted / one.tokens;
      const double part = (wanted - below->tokens) / (one.tokens - below->tokens);
      return below->time + part * (one.time - below->time);
    }
    below = &one;
  }
  return below ? std::optional(below->time) : std::nullopt;
}

std::int64_t step_costs::tokens_within(std::chrono::nanoseconds limit) const {
  const auto most = static_cast<double>(limit.count());
  const step_class* below = nullptr;
  const step_class* above = nullptr;
  for (const step_class& one : classes_) {
    if (!is_known(one)) continue;
    if (one.time > most) {
      above = &one;
      break;
    }
    below = &one;
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
