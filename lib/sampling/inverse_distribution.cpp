#include "sampling/inverse_distribution.hpp"

#include "sampling/row.hpp"
#include "sampling/softmax.hpp"

namespace cogen {
namespace {

struct place {
  std::size_t index = 0;
  double before = 0;  ///< weight of all entries before it
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
  const double target = u * total_weight(candidates);
  return candidates[locate(
                        candidates.size(), [&](std::size_t i) { return candidates[i].weight; }, target)
                        .index]
      .id;
}

token choose(std::span<const float> weights, std::span<const double> block_sums, double total, double u) {
  const double target = u * total;
  const place found = locate(
      block_sums.size(), [&](std::size_t b) { return block_sums[b]; }, target);
  const auto block = block_of(weights, found.index);
  const auto within = locate(
      block.size(), [&](std::size_t i) { return block[i]; }, target - found.before);
  return static_cast<token>(found.index * row_block + within.index);
}

}  // namespace cogen
