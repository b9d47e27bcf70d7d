#include "sampling/filters.hpp"

#include "sampling/row.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace cogen {
namespace {

using iterator = std::vector<candidate>::iterator;

iterator iterator_at(std::vector<candidate>& candidates, std::size_t rank) {
  return candidates.begin() + static_cast<std::ptrdiff_t>(rank);
}

/// The candidates not smaller than the `count`-th largest logit, weighed. Returns the sum of their weights.
double collect_top_k(std::span<const float> logits, std::size_t count, const softmax_scale& scale,
                     sampling_scratch& scratch) {
  collect_about_largest(logits, count, scratch);
  auto& candidates = scratch.candidates;
  if (candidates.size() > count) {
    auto& ordered = scratch.ordered = candidates;
    std::nth_element(ordered.begin(), iterator_at(ordered, count - 1), ordered.end(), ranks_before);
    std::erase_if(candidates,
                  [smallest = ordered[count - 1].logit](const candidate& entry) { return entry.logit < smallest; });
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

/// Moves the candidates that top_p keeps to the front, and returns their number: the weights before the last of them do
/// not reach `mass`, with its own they do. Found by halving, so that only the parts around the last are ever ordered.
std::size_t move_kept_to_front(std::vector<candidate>& ordered, double mass) {
  std::size_t kept = 0;
  std::size_t beyond = ordered.size();
  double prefix = 0;
  while (beyond - kept > 1) {
    const std::size_t middle = kept + (beyond - kept) / 2;
    std::nth_element(iterator_at(ordered, kept), iterator_at(ordered, middle), iterator_at(ordered, beyond),
                     ranks_before);
    const double upper = total_weight(std::span(ordered).subspan(kept, middle - kept));
    if (prefix + upper < mass) {
      prefix += upper;
      kept = middle;
    } else {
      beyond = middle;
    }
  }
  return beyond;
}

/// Weights in [0, 1] fall into buckets of an eighth of a power of two by the first bits of their representation.
constexpr std::size_t buckets = 1017;
std::size_t bucket_of(float weight) { return std::bit_cast<std::uint32_t>(weight) >> 20; }
float smallest_in(std::size_t bucket) { return std::bit_cast<float>(static_cast<std::uint32_t>(bucket << 20)); }

/// The bucket in which the sum of weights, the largest first, reaches a mass; 0 where it never does.
struct last_bucket {
  std::size_t index = 0;
  double prefix = 0;  ///< weight of all larger buckets
};

template <typename WeightAt>
last_bucket find_last_bucket(double mass, std::size_t count, WeightAt weight_at, std::vector<double>& sums) {
  sums.assign(buckets, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const float weight = weight_at(i);
    sums[bucket_of(weight)] += weight;
  }
  last_bucket last{buckets - 1};
  for (; last.index > 0 && last.prefix + sums[last.index] < mass; --last.index) last.prefix += sums[last.index];
  return last;
}

/// The positions of the candidates whose weight is below `bound`, in the memory of `positions`. Without a branch for
/// each candidate: in a flat row many would be mispredicted.
std::span<const std::uint32_t> positions_below(float bound, std::span<const candidate> candidates,
                                               std::vector<std::uint32_t>& positions) {
  if (positions.size() < candidates.size()) positions.resize(candidates.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    positions[count] = static_cast<std::uint32_t>(i);
    count += candidates[i].weight < bound ? 1 : 0;
  }
  return std::span(positions).first(count);
}

/// Sets the weight of what ranks after the last candidate that top_p keeps to 0. Only the bucket in which the mass is
/// reached is ordered; an id stands for a position there.
void cut_after(const last_bucket& last, double mass, sampling_scratch& scratch) {
  auto& ordered = scratch.ordered;
  ordered.clear();
  for (const auto i : positions_below(smallest_in(last.index + 1), scratch.candidates, scratch.ids)) {
    auto& entry = scratch.candidates[i];
    if (bucket_of(entry.weight) == last.index)
      ordered.push_back({static_cast<token>(i), entry.logit, entry.weight});
    else
      entry.weight = 0;
  }
  if (ordered.empty()) return;
  const std::size_t kept = move_kept_to_front(ordered, mass - last.prefix);
  for (const auto& each : std::span(ordered).subspan(kept))
    scratch.candidates[static_cast<std::size_t>(each.id)].weight = 0;
}

/// A bound of weights that top_p keeps no token below: n tokens of the share (1 - p) / n or less have no more than 1 -
/// p together. Half of it leaves room for rounding.
float smallest_for_top_p(double top_p, double total, std::size_t count) {
  return static_cast<float>(0.5 * (1 - top_p) * total / static_cast<double>(count));
}

/// Where top_p ends among the weights that are at least `bound`.
last_bucket find_last_bucket(double mass, float bound, sampling_scratch& scratch) {
  const auto ids = indices_above(scratch.weights, scratch.block_sums, bound, scratch.ids);
  return find_last_bucket(
      mass, ids.size(), [&](std::size_t i) { return scratch.weights[ids[i]]; }, scratch.bucket_sums);
}

/// The tokens that top_p and min_p keep of a whole row. Most rows reach the mass with few weights; the small ones are
/// only read where it is not reached.
void collect_for_top_p(std::span<const float> logits, const filters& which, const softmax_scale& scale,
                       sampling_scratch& scratch) {
  constexpr float small = 0x1p-16F;
  const double total = weigh_row(logits, scale, scratch.weights, scratch.block_sums);
  const double mass = which.top_p * total;
  const float smallest = std::max(smallest_for_top_p(which.top_p, total, logits.size()), which.min_p);
  float bound = std::max(small, smallest);
  auto last = find_last_bucket(mass, bound, scratch);
  if (last.index == 0 && bound > smallest) {
    bound = smallest;
    last = find_last_bucket(mass, bound, scratch);
  }
  collect_at_least_weight(logits, std::max(bound, smallest_in(last.index)), scratch);
  cut_after(last, mass, scratch);
}

/// The tokens that top_k, then top_p keep.
void collect_for_top_k(std::span<const float> logits, const filters& which, const softmax_scale& scale,
                       sampling_scratch& scratch) {
  const double mass = which.top_p * collect_top_k(logits, which.top_k, scale, scratch);
  if (which.top_p >= 1) return;
  const auto& candidates = scratch.candidates;
  const auto last = find_last_bucket(
      mass, candidates.size(), [&](std::size_t i) { return candidates[i].weight; }, scratch.bucket_sums);
  cut_after(last, mass, scratch);
}

}  // namespace

void apply_filters(std::span<const float> logits, const filters& which, const softmax_scale& scale,
                   sampling_scratch& scratch) {
  if (!which.limits_count(logits.size()) && which.top_p >= 1)
    return collect_for_min_p(logits, which.min_p, scale, scratch);
  if (which.limits_count(logits.size()))
    collect_for_top_k(logits, which, scale, scratch);
  else
    collect_for_top_p(logits, which, scale, scratch);
  if (which.min_p > 0)
    std::erase_if(scratch.candidates, [&](const candidate& entry) { return entry.weight < which.min_p; });
}

}  // namespace cogen
