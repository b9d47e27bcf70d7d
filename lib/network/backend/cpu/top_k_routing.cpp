#include "network/backend/cpu/top_k_routing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace cogen::cpu {

namespace {

using models::router_spec;

constexpr float infinity = std::numeric_limits<float>::infinity();

void softmax(std::span<float> row) {
  const float largest = *std::ranges::max_element(row);
  float sum = 0;
  for (auto& value : row) sum += value = std::exp(value - largest);
  for (auto& value : row) value /= sum;
}

void sigmoid(std::span<float> row) {
  for (auto& value : row) value = 1 / (1 + std::exp(-value));
}

float group_score(router_spec::group_scoring scoring, std::span<const float> group) {
  float best = -infinity, second = -infinity;
  for (const float score : group) {
    second = std::max(second, std::min(best, score));
    best = std::max(best, score);
  }
  return scoring == router_spec::group_scoring::two_best && group.size() > 1 ? best + second : best;
}

/// Experts outside the best groups are scored below all others.
void leave_best_groups(const router_spec& spec, std::span<float> choice, std::span<float> group_scores) {
  const auto size = choice.size() / group_scores.size();
  for (std::size_t group = 0; group < group_scores.size(); ++group)
    group_scores[group] = group_score(spec.groups_by, choice.subspan(group * size, size));
  for (auto left = spec.groups; left > spec.top_groups; --left) {
    const auto worst = std::ranges::min_element(group_scores.rbegin(), group_scores.rend());
    *worst = infinity;
    const auto group = static_cast<std::size_t>(group_scores.rend() - worst) - 1;
    std::ranges::fill(choice.subspan(group * size, size), -infinity);
  }
}

/// Scores of experts that are not the best in `choice` become 0.
void keep_best(std::span<float> row, std::span<float> choice, std::int64_t count) {
  for (std::int64_t pick = 0; pick < count; ++pick) {
    const auto next = std::ranges::max_element(choice);
    *next = -infinity;
    auto& score = row[static_cast<std::size_t>(next - choice.begin())];
    score = -score;  // picked
  }
  for (auto& score : row) score = std::max(0.0F, -score);
}

/// The sum of exp(logit - best) over the logits left that are near the best one. An expert that is not left has the
/// logit -infinity.
float sum_near(float best, std::span<const float> left, double jitter) {
  const auto near = static_cast<float>(2 * jitter);
  float sum = 0;
  for (const float logit : left) {
    const bool is_far = (best - logit) / std::max(std::abs(logit), best) > near;
    if (logit != -infinity && !is_far) sum += std::exp(logit - best);
  }
  return sum;
}

/// The best of the experts left, one after the other, with its share of a softmax over those near it.
void mix_sparsely(std::span<float> row, std::span<float> left, const models::moe_spec& spec) {
  std::ranges::copy(row, left.begin());
  std::ranges::fill(row, 0.0F);
  for (std::int64_t pick = 0; pick < spec.top_k; ++pick) {
    const auto best = std::ranges::max_element(left);
    row[static_cast<std::size_t>(best - left.begin())] = 1 / sum_near(*best, left, spec.router.jitter);
    *best = -infinity;
  }
}

void scale(std::span<float> row, const router_spec& spec) {
  if (spec.renormalized) {
    const float sum = std::accumulate(row.begin(), row.end(), static_cast<float>(spec.added_to_sum));
    for (auto& share : row) share /= sum;
  }
  if (spec.scale != 1)
    for (auto& share : row) share *= static_cast<float>(spec.scale);
}

bool has_no_scores(std::span<const float> row) {
  return std::ranges::any_of(row, [](float score) { return std::isnan(score); });
}

void make_invalid(std::span<float> row, std::int64_t chosen) {
  std::ranges::fill(row, 0.0F);
  std::ranges::fill(row.first(static_cast<std::size_t>(chosen)), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

void choose_experts(const models::moe_spec& spec, std::span<const float> choice_bias, std::span<float> row,
                    std::span<float> scratch) {
  const auto& router = spec.router;
  const auto choice = scratch.first(row.size());
  if (router.scores == router_spec::scoring::sigmoid) sigmoid(row);
  if (router.scores == router_spec::scoring::softmax) softmax(row);
  if (has_no_scores(row)) return make_invalid(row, spec.top_k);
  if (router.scores == router_spec::scoring::sparsemixer) return mix_sparsely(row, choice, spec);
  std::ranges::copy(row, choice.begin());
  if (!choice_bias.empty()) std::ranges::transform(choice, choice_bias, choice.begin(), std::plus());
  if (router.groups > router.top_groups)
    leave_best_groups(router, choice, scratch.subspan(row.size(), static_cast<std::size_t>(router.groups)));
  keep_best(row, choice, spec.top_k);
  scale(row, router);
}

}  // namespace cogen::cpu
