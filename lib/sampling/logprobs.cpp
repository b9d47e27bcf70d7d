#include "sampling/logprobs.hpp"

#include "sampling/row.hpp"
#include "sampling/softmax.hpp"

#include <algorithm>
#include <cmath>

namespace cogen {

row_logprobs::row_logprobs(std::span<const float> logits, float largest, sampling_scratch& scratch)
    : logits_(logits),
      log_total_(largest + std::log(weigh_row(logits, {largest}, scratch.weights, scratch.block_sums))) {}

float row_logprobs::of(token id) const {
  return static_cast<float>(logits_[static_cast<std::size_t>(id)] - log_total_);
}

std::vector<token_logprob> row_logprobs::top(std::size_t count, sampling_scratch& scratch) const {
  if (count == 0) return {};
  collect_largest(logits_, count, scratch);
  std::vector<token_logprob> best;
  best.reserve(count);
  for (const auto& each : scratch.candidates) best.push_back({each.id, of(each.id)});
  return best;
}

}  // namespace cogen
