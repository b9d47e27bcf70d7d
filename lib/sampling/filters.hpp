#pragma once

#include "sampling/scratch.hpp"
#include "sampling/softmax.hpp"

#include <span>

namespace cogen {

/// Which tokens may be sampled.
struct filters {
  std::size_t top_k = 0;  ///< 0 keeps all
  double top_p = 1;       ///< 1 keeps all
  float min_p = 0;        ///< 0 keeps all

  /// True where a row of so many logits passes whole.
  bool keep_all(std::size_t vocabulary) const { return !limits_count(vocabulary) && top_p >= 1 && min_p <= 0; }
  bool limits_count(std::size_t vocabulary) const { return top_k > 0 && top_k < vocabulary; }
};

/// Replaces `scratch.candidates` by the tokens of `logits` that pass top_k, then top_p, then min_p, weighed, in order
/// of ids: at least the one with the largest logit. Tokens that do not pass may be among them, with weight 0. The row
/// must have a finite largest entry, and `scratch.block_maxima` must be its own.
void apply_filters(std::span<const float> logits, const filters& which, const softmax_scale& scale,
                   sampling_scratch& scratch);

}  // namespace cogen
