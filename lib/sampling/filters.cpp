#include "sampling/filters.hpp"

#include "sampling/row.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace cogen {
namespace {

using iterator = std::vector<candidate>::iterator;

iterator at(std::vector<candidate>& candidates, std::size_t rank) {
  return candidates.begin() + static_cast<std::ptrdiff_t>(rank);
}

/// The candidates not smaller than the `count`-th largest logit, weighed. Returns the sum of their weights.
double collect_top_k(std::span<const float> logits, std::size_t count, const softmax_scale& scale,
                     sampling_scratch& scratch) {
  collect_about_largest(logits, count, scratch);
  auto& candidates = scratch.candidates;
  if (candidates.size() > count) {
    auto& ordered = scratch.ordered = candidates;
    std::nth_element(ordered.begin(), at(ordered, count - 1), ordered.end(), ranks_before);
    std::erase_if(candidates,
                  [smallest = ordered[count - 1].logit](const candidate& each) { return each.logit < smallest; });
  }
  return weigh(candidates, scale);
}

/// Replaces the candidates by the tokens whose weight is at least `bound`.
void collect_at_least_weight(std::span<const float> logits, float bound, sampling_scratch& scratch) {
  const auto ids = indices_above(scratch.weights, scratch.block_sums, bound, scratch.ids);
  scratch.candidates.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    scratch.candidates[i] = {static_cast<token>(ids[i]), logits[ids[i]], scratch.weights[ids[i]]};
}

/// A bound of weights that top_p keeps no token below. n tokens of the share (1 - p) / n or less have no more than 1 -
/// p together; half of it leaves room for rounding. The first of weight_bounds above which the mass is reached is such
/// a bound, too.
float bound_for_top_p(double top_p, double total, std::span<const float> weights) {
  const auto masses = masses_above(weights);
  for (std::size_t k = 0; k < masses.size(); ++k)
    if (masses[k] >= top_p * total * (1 + 1e-4)) return weight_bounds[k];
  return static_cast<float>(0.5 * (1 - top_p) * total / static_cast<double>(weights.size()));
}

/// All tokens that top_p and min_p may keep. Returns the weight of the whole row.
double collect_for_top_p(std::span<const float> logits, const filters& which, const softmax_scale& scale,
                         sampling_scratch& scratch) {
  const double total = weigh_row(logits, scale, scratch.weights, scratch.block_sums);
  collect_at_least_weight(logits, std::max(bound_for_top_p(which.top_p, total, scratch.weights), which.min_p), scratch);
  return total;
}

void collect_for_min_p(std::span<const float> logits, float ratio, const softmax_scale& scale,
                       sampling_scratch& scratch) {
  scratch.candidates.clear();
  for (std::size_t b = 0; b < scratch.block_maxima.size(); ++b) {
    if (weight_of(scratch.block_maxima[b], scale) < ratio) continue;
    for (std::size_t i = b * row_block; i < std::min(logits.size(), (b + 1) * row_block); ++i)
      if (const float weight = weight_of(logits[i], scale); weight >= ratio)
        scratch.candidates.push_back({static_cast<token>(i), logits[i], weight});
  }
}

/// The last candidate in rank that top_p keeps: the weights before it do not reach `mass`, with its own they do. Found
/// by halving, so that only the parts around it are ever ordered.
candidate last_within(std::vector<candidate>& ordered, double mass) {
  std::size_t kept = 0;
  std::size_t beyond = ordered.size();
  double before = 0;
  while (beyond - kept > 1) {
    const std::size_t middle = kept + (beyond - kept) / 2;
    std::nth_element(at(ordered, kept), at(ordered, middle), at(ordered, beyond), ranks_before);
    const double upper = total_weight(std::span(ordered).subspan(kept, middle - kept));
    if (before + upper < mass) {
      before += upper;
      kept = middle;
    } else {
      beyond = middle;
    }
  }
  return ordered[kept];
}

/// Weights in [0, 1] fall into buckets of an eighth of a power of two by the first bits of their representation.
constexpr std::size_t buckets = 1017;
std::size_t bucket_of(const candidate& each) { return std::bit_cast<std::uint32_t>(each.weight) >> 20; }

/// Drops what ranks after the last candidate that top_p keeps. Only the bucket in which the mass is reached is ordered.
void cut_top_p(double mass, sampling_scratch& scratch) {
  auto& sums = scratch.bucket_sums;
  sums.assign(buckets, 0);
  for (const auto& each : scratch.candidates) sums[bucket_of(each)] += each.weight;
  std::size_t bucket = buckets - 1;
  double before = 0;
  for (; bucket > 0 && before + sums[bucket] < mass; --bucket) before += sums[bucket];
  scratch.ordered.clear();
  for (const auto& each : scratch.candidates)
    if (bucket_of(each) == bucket) scratch.ordered.push_back(each);
  if (scratch.ordered.empty()) return;
  const candidate last = last_within(scratch.ordered, mass - before);
  std::erase_if(scratch.candidates, [&](const candidate& each) { return ranks_before(last, each); });
}

}  // namespace

void apply_filters(std::span<const float> logits, const filters& which, const softmax_scale& scale,
                   sampling_scratch& scratch) {
  if (!which.limits_count(logits.size()) && which.top_p >= 1)
    return collect_for_min_p(logits, which.min_p, scale, scratch);
  const double total = which.limits_count(logits.size()) ? collect_top_k(logits, which.top_k, scale, scratch)
                                                         : collect_for_top_p(logits, which, scale, scratch);
  if (which.top_p < 1) cut_top_p(which.top_p * total, scratch);
  if (which.min_p > 0)
    std::erase_if(scratch.candidates, [&](const candidate& each) { return each.weight < which.min_p; });
}

}  // namespace cogen
