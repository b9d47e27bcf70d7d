#pragma once

#include "sampling/exponential.hpp"
#include "sampling/scratch.hpp"

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

/// Sets the candidates' weights; returns their sum.
double weigh(std::span<candidate> candidates, const softmax_scale& scale);

double total_weight(std::span<const candidate> candidates);

}  // namespace cogen
