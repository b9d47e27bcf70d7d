#include "draft_costs.hpp"

#include "step_class.hpp"

#include <algorithm>
#include <limits>

namespace cogen::scheduler {
namespace {

constexpr double newest_share = 1. / 16;  // of the time of rows
constexpr double most_slower = 1.5;       // than was expected: what took longer was held up, or will be seen again
constexpr double kept_sums = 63. / 64;    // weight of earlier steps with drafts, with each of them

}  // namespace

void draft_costs::took(std::int64_t rows, std::int64_t drafts, std::chrono::nanoseconds time) {
  step_class& one = classes_[class_of(rows, classes_.size())];
  const auto all = static_cast<double>(rows), added = static_cast<double>(drafts);
  const auto whole = static_cast<double>(time.count());
  ++one.steps;
  if (drafts == 0) {
    one.measured(all, whole);
    one.newest_without = one.steps;
  } else if (one.newest_without > 0) {
    // A draft token takes no longer than a row: what does was held up.
    const double beside = std::clamp(whole - one.row * all, 0., one.row * added);
    one.drafts_and_time = kept_sums * one.drafts_and_time + added * beside;
    one.drafts_squared = kept_sums * one.drafts_squared + added * added;
    one.newest_with = one.steps;
    one.measured(all, whole - one.draft(all) * added);
  }
}

draft_costs::estimate draft_costs::of(std::int64_t rows) const {
  const step_class& one = classes_[class_of(rows, classes_.size())];
  if (one.steps == 0) return {0, 0};
  if (!one.knows(one.newest_without)) return {one.row, std::numeric_limits<double>::infinity()};
  return {one.row, one.knows(one.newest_with) ? one.draft(static_cast<double>(rows)) : 0};
}

/// By least squares, as if a step with a draft token for every fourth row had taken no longer: few say little.
double draft_costs::step_class::draft(double rows) const {
  return drafts_and_time / (drafts_squared + rows * rows / 16);
}

void draft_costs::step_class::measured(double rows, double time) {
  const double each = time / rows;
  const double share = std::max(newest_share, 1. / static_cast<double>(steps));
  row = row == 0 ? each : row + share * (std::min(each, most_slower * row) - row);
}

}  // namespace cogen::scheduler
