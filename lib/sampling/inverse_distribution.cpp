#include "sampling/inverse_distribution.hpp"

#include "sampling/row.hpp"
#include "sampling/softmax.hpp"

#include <algorithm>
#include <array>

namespace cogen {
namespace {

struct place {
  std::size_t index = 0;
  double prefix = 0;  ///< weight of all entries before it
};

/// Where the running sum of `count` weights first exceeds `target`; the last positive one where rounding keeps it
/// below.
template <typename WeightAt>
place locate(std::size_t count, WeightAt weight_at, double target) {
  place found;
  double sum = 0;
  for (std::size_t i = 0; i < count && sum <= target; ++i) {
    const double weight = weight_at(i);
    if (weight > 0) found = {i, sum};
    sum += weight;
  }
  return found;
}

}  // namespace

token choose(std::span<const candidate> candidates, double u) {
  constexpr std::size_t max_parts = 64;
  const std::size_t length = (candidates.size() + max_parts - 1) / max_parts;
  const std::size_t parts = (candidates.size() + length - 1) / length;
  const auto part = [&](std::size_t p) {
    return candidates.subspan(p * length, std::min(length, candidates.size() - p * length));
  };
  std::array<double, max_parts> sums;
  double total = 0;
  for (std::size_t p = 0; p < parts; ++p) total += sums[p] = total_weight(part(p));
  const double target = u * total;
  const place found = locate(
      parts, [&](std::size_t p) { return sums[p]; }, target);
  const auto searched = part(found.index);
  const auto within = locate(
      searched.size(), [&](std::size_t i) { return searched[i].weight; }, target - found.prefix);
  return searched[within.index].id;
}

token choose(std::span<const float> weights, std::span<const double> block_sums, double total, double u) {
  const double target = u * total;
  const place found = locate(
      block_sums.size(), [&](std::size_t b) { return block_sums[b]; }, target);
  const auto block = block_of(weights, found.index);
  const auto within = locate(
      block.size(), [&](std::size_t i) { return block[i]; }, target - found.prefix);
  return static_cast<token>(found.index * row_block + within.index);
}

}  // namespace cogen
