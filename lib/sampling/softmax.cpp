#include "sampling/softmax.hpp"

#include "sampling/row.hpp"

#include <array>

namespace cogen {
namespace {

double sum_of(std::span<const float> weights) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= weights.size(); i += lanes)
    for (std::size_t j = 0; j < lanes; ++j) sums[j] += weights[i + j];
  for (std::size_t j = 0; i + j < weights.size(); ++j) sums[j] += weights[i + j];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

double weigh_row(std::span<const float> logits, const softmax_scale& scale, std::vector<float>& weights,
                 std::vector<double>& block_sums) {
  weights.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) weights[i] = weight_of(logits[i], scale);
  block_sums.resize((logits.size() + row_block - 1) / row_block);
  double total = 0;
  for (std::size_t b = 0; b < block_sums.size(); ++b) {
    block_sums[b] = sum_of(block_of(std::span<const float>(weights), b));
    total += block_sums[b];
  }
  return total;
}

double weigh(std::span<candidate> candidates, const softmax_scale& scale) {
  for (auto& each : candidates) each.weight = weight_of(each.logit, scale);
  return total_weight(candidates);
}

double total_weight(std::span<const candidate> candidates) {
  double total = 0;
  for (const auto& each : candidates) total += each.weight;
  return total;
}

}  // namespace cogen
