#pragma once

#include "sampling/exponential.hpp"
#include "sampling/scratch.hpp"

#include <cstddef>
#include <cstdint>
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

/// The indices of the weights that are at least `bound`, in order, in the memory of `ids`. `block_sums` are those of
/// the weights.
std::span<const std::uint32_t> indices_above(std::span<const float> weights, std::span<const double> block_sums,
                                             float bound, std::vector<std::uint32_t>& ids);

/// What indices_above() may write beyond the last index.
inline constexpr std::size_t index_padding = 16;

/// The passes over a row, compiled for one instruction set. All give the same bits.
struct row_passes {
  /// weigh_row() into memory that is large enough.
  double (*weigh)(std::span<const float> logits, const softmax_scale& scale, float* weights, double* block_sums);
  /// indices_above() into memory for each weight and index_padding more. Returns their number.
  std::size_t (*indices_above)(std::span<const float> weights, std::span<const double> block_sums, float bound,
                               std::uint32_t* ids);
};

/// Those that this processor has, the fastest last: the functions above take that.
std::vector<row_passes> available_row_passes();

/// Sets the candidates' weights; returns their sum.
double weigh(std::span<candidate> candidates, const softmax_scale& scale);

/// The sum of the weights, added in an order that depends on their number alone.
double total_weight(std::span<const candidate> candidates);

}  // namespace cogen
