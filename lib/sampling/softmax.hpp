#pragma once

#include "sampling/exponential.hpp"
#include "sampling/scratch.hpp"

#include <array>
#include <span>
#include <vector>

namespace cogen {

/// The largest logit of a row and what logits are divided by.
struct softmax_scale {
  float largest;
  float inverse_temperature = 1;
};

/// exp((logit - largest) / temperature): 1 for the largest logit, 0 for those more than 87 temperatures below it.
constexpr float weight_of(float logit, const softmax_scale& scale) {
  return exponential((logit - scale.largest) * scale.inverse_temperature);
}

/// Writes the weight of each entry of `logits` [n] to `weights` [n] and the sum of each block to `block_sums`; returns
/// the sum of all, added in a fixed order.
double weigh_row(std::span<const float> logits, const softmax_scale& scale, std::vector<float>& weights,
                 std::vector<double>& block_sums);

/// weigh_row() into memory that is large enough.
using weigh_function = double (*)(std::span<const float> logits, const softmax_scale& scale, float* weights,
                                  double* block_sums);

/// The same arithmetic compiled for each instruction set that this processor has, the fastest last. All give the same
/// bits. weigh_row() takes the last.
std::vector<weigh_function> weigh_functions();

/// Bounds of weights, in falling order.
inline constexpr std::array<float, 4> weight_bounds{0x1p-4F, 0x1p-8F, 0x1p-12F, 0x1p-16F};

/// For each of weight_bounds, the sum of the weights that are not below it, to 1e-5 of itself.
std::array<double, weight_bounds.size()> masses_above(std::span<const float> weights);

/// Sets the candidates' weights; returns their sum.
double weigh(std::span<candidate> candidates, const softmax_scale& scale);

double total_weight(std::span<const candidate> candidates);

}  // namespace cogen
