#pragma once

#include "sampling/scratch.hpp"
#include "sampling/softmax.hpp"

#include <cogen/sampling_params.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace cogen {

/// The log-probabilities of a row of the model's own logits, from two passes over it. Refers to the row.
class row_logprobs {
 public:
  /// `logits` must have no NaN, no plus infinity and a largest entry that is finite; `scratch.block_maxima` must be its
  /// own.
  row_logprobs(std::span<const float> logits, float largest, sampling_scratch& scratch);

  float logprob(token id) const;

  /// The `count` largest, most probable first, lower ids first among equals; fewer where fewer are possible at all.
  std::vector<token_logprob> top(std::size_t count, sampling_scratch& scratch) const;

 private:
  std::span<const float> logits_;
  double log_total_;
};

/// The log-probabilities of tokens that may be sampled. Refers to them.
class kept_logprobs {
 public:
  /// `candidates` are weighed by `scale`, at least one of them above 0. Removes those of weight 0.
  kept_logprobs(std::vector<candidate>& candidates, const softmax_scale& scale);

  float logprob(token id) const;  ///< of one of the tokens

  /// The `count` most probable ones, lower ids first among equals; fewer where there are no more.
  std::vector<token_logprob> top(std::size_t count);

 private:
  float logprob(const candidate& entry) const;

  std::vector<candidate>& candidates_;
  softmax_scale scale_;
  double log_total_;
};

}  // namespace cogen
