#pragma once

#include "sampling/sampler.hpp"

#include <span>
#include <vector>

namespace cogen::decoding {

/// The log-softmax of a row of logits, in float32. Throws generation_error with error::bad_logits if a logit is NaN or
/// plus infinity, or none is more than minus infinity.
void normalize(std::span<float> logits, sampling_scratch& scratch);

/// The `count` best tokens after `history` and their log-probabilities, most probable first, lower ids first among
/// equals: normalizes `logits`, then applies the sampler's logit processors, in the order of Transformers' beam search.
/// Throws generation_error with error::bad_logits or callback_threw.
std::vector<token_logprob> best_tokens(std::span<const float> logits, std::size_t count, const sampler& processors,
                                       token_history& history, sampling_scratch& scratch);

}  // namespace cogen::decoding
