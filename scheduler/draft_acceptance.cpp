#include "draft_acceptance.hpp"

#include <chrono>

namespace cogen::scheduler {
namespace {

constexpr double weight_of_newest = 1. / 8;   // token
constexpr double required_gain = 1 + 1. / 4;  // what is gained by what is lost, at least

}  // namespace

void draft_acceptance::saw(std::int64_t judged, std::int64_t right) {
  for (std::int64_t i = 0; i < right; ++i) right_ += weight_of_newest * (1 - right_);
  if (right < judged) right_ -= weight_of_newest * right_;
}

double draft_acceptance::expected(std::int64_t count) const {
  double sum = 0, all_right = 1;
  for (std::int64_t i = 0; i < count; ++i) sum += all_right *= right_;
  return sum;
}

std::int64_t draft_acceptance::worthwhile(std::int64_t most, const step_outlook& without,
                                          const step_costs& costs) const {
  const auto base = costs.time_of(without.tokens);
  if (!base) return most;
  std::int64_t best = 0;
  double best_rate = without.sampled / *base, gained = 0, all_right = 1;
  for (std::int64_t count = 1; count <= most; ++count) {
    gained += all_right *= right_;
    const double time = *costs.time_of(without.tokens + count);
    const double rate = (without.sampled + gained) / time;
    const bool pays = gained * *base > required_gain * without.sampled * (time - *base);
    if (pays && rate > best_rate) best = count, best_rate = rate;
  }
  return best;
}

}  // namespace cogen::scheduler
