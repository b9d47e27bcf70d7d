#include "draft_costs.hpp"

#include "step_class.hpp"

#include <algorithm>
#include <limits>

namespace cogen::scheduler {
namespace {

constexpr double newest_row_share = 1. / 16;  // of the time of rows
constexpr double max_slowdown = 1.5;          // than was expected: what took longer was held up, or will be seen again
constexpr double kept_sums = 63. / 64;        // weight of earlier steps with drafts, with each of them

}  // namespace

void draft_costs::took(std::int64_t rows, std::int64_t drafts, std::chrono::nanoseconds time) {
  step_class& bucket = classes_[class_of(rows, classes_.size())];
  const auto row_count = static_cast<double>(rows), added = static_cast<double>(drafts);
  const auto whole = static_cast<double>(time.count());
  ++bucket.steps;
  if (drafts == 0) {
    bucket.measured(row_count, whole);
    bucket.newest_without = bucket.steps;
  } else if (bucket.newest_without > 0) {
    // A draft token takes no longer than a row: what does was held up.
    const double beside = std::clamp(whole - bucket.row * row_count, 0., bucket.row * added);
    bucket.drafts_and_time = kept_sums * bucket.drafts_and_time + added * beside;
    bucket.drafts_squared = kept_sums * bucket.drafts_squared + added * added;
    bucket.newest_with = bucket.steps;
    bucket.measured(row_count, whole - bucket.draft(row_count) * added);
  }
}

draft_costs::estimate draft_costs::predict(std::int64_t rows) const {
  const step_class& bucket = classes_[class_of(rows, classes_.size())];
  if (bucket.steps == 0) return {0, 0};
  if (!bucket.knows(bucket.newest_without)) return {bucket.row, std::numeric_limits<double>::infinity()};
  return {bucket.row, bucket.knows(bucket.newest_with) ? bucket.draft(static_cast<double>(rows)) : 0};
}

/// By least squares, as if a step with a draft token for every fourth row had taken no longer: few say little.
double draft_costs::step_class::draft(double rows) const {
  return drafts_and_time / (drafts_squared + rows * rows / 16);
}

void draft_costs::step_class::measured(double rows, double time) {
  const double per_row = time / rows;
  const double share = std::max(newest_row_share, 1. / static_cast<double>(steps));
  row = row == 0 ? per_row : row + share * (std::min(per_row, max_slowdown * row) - row);
}

}  // namespace cogen::scheduler
