#include "draft_acceptance.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace cogen::scheduler {
namespace {

constexpr double weight_of_newest = 1. / 8;  // token
constexpr double caution = 1 + 1. / 4;       // draft tokens are taken to cost so many times as much
constexpr double none = 2;

void learn(double& probability, bool is_right) { probability += weight_of_newest * (is_right - probability); }

}  // namespace

void draft_acceptance::saw(std::int64_t judged, std::int64_t right) {
  for (std::int64_t i = 0; i < std::min(judged, right + 1); ++i) learn(i == 0 ? first_ : later_, i < right);
}

double draft_acceptance::likelihood(std::int64_t position) const {
  return first_ * std::pow(later_, static_cast<double>(position));
}

std::int64_t draft_acceptance::count(std::int64_t most, double min_likelihood) const {
  std::int64_t count = 0;
  while (count < most && likelihood(count) >= min_likelihood) ++count;
  return count;
}

double min_worthwhile_likelihood(std::vector<double>& likelihoods, const step_outlook& without,
                                 const draft_costs::estimate& costs) {
  std::ranges::sort(likelihoods, std::greater());
  if (std::isinf(costs.draft)) return none;
  const double added = caution * costs.draft;
  auto tokens = static_cast<double>(without.rows + without.drafts);
  double time = costs.row * static_cast<double>(without.rows) + added * static_cast<double>(without.drafts);
  double least = none;
  for (const double each : likelihoods) {
    if (each * time < added * tokens) break;
    tokens += each;
    time += added;
    least = each;
  }
  return least;
}

}  // namespace cogen::scheduler
