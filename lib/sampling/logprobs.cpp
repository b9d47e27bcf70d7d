#include "sampling/logprobs.hpp"

#include "sampling/row.hpp"
#include "sampling/softmax.hpp"

#include <algorithm>
#include <cmath>

namespace cogen {

row_logprobs::row_logprobs(std::span<const float> logits, float largest, sampling_scratch& scratch)
    : logits_(logits),
      log_total_(largest + std::log(weigh_row(logits, {largest}, scratch.weights, scratch.block_sums))) {}

float row_logprobs::logprob(token id) const {
  return static_cast<float>(logits_[static_cast<std::size_t>(id)] - log_total_);
}

std::vector<token_logprob> row_logprobs::top(std::size_t count, sampling_scratch& scratch) const {
  if (count == 0) return {};
  collect_largest(logits_, count, scratch);
  std::vector<token_logprob> best;
  best.reserve(count);
  for (const auto& each : scratch.candidates) best.push_back({each.id, logprob(each.id)});
  return best;
}

kept_logprobs::kept_logprobs(std::vector<candidate>& candidates, const softmax_scale& scale)
    : candidates_(candidates), scale_(scale), log_total_(std::log(total_weight(candidates))) {
  std::erase_if(candidates_, [](const candidate& entry) { return entry.weight <= 0; });
}

float kept_logprobs::logprob(const candidate& entry) const {
  return static_cast<float>((entry.logit - scale_.largest) * scale_.inverse_temperature - log_total_);
}

float kept_logprobs::logprob(token id) const { return logprob(*std::ranges::find(candidates_, id, &candidate::id)); }

std::vector<token_logprob> kept_logprobs::top(std::size_t count) {
  count = std::min(count, candidates_.size());
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(candidates_.begin(), end, candidates_.end(), ranks_before);
  std::vector<token_logprob> best;
  best.reserve(count);
  for (const auto& each : std::span(candidates_).first(count)) best.push_back({each.id, logprob(each)});
  return best;
}

}  // namespace cogen
