#include "decoding/normalized_row.hpp"

#include "sampling/row.hpp"
#include "sampling/softmax.hpp"

#include <cogen/error.hpp>

#include <cmath>

namespace cogen::decoding {
namespace {

/// The largest of them. Throws generation_error if no token can be chosen.
float scan(std::span<const float> logits, sampling_scratch& scratch) {
  const auto found = scan_row(logits, scratch.block_maxima);
  if (!found.finite) throw generation_error({error::bad_logits, explain(sampling_status::not_finite)});
  if (found.largest == -infinity) throw generation_error({error::bad_logits, explain(sampling_status::nothing_left)});
  return found.largest;
}

}  // namespace

void normalize(std::span<float> logits, sampling_scratch& scratch) {
  const float largest = scan(logits, scratch);
  const double log_total = largest + std::log(weigh_row(logits, {largest}, scratch.weights, scratch.block_sums));
  for (float& each : logits) each = static_cast<float>(each - log_total);
}

std::vector<token_logprob> best_tokens(std::span<const float> logits, std::size_t count, const sampler& processors,
                                       token_history& history, sampling_scratch& scratch) {
  auto& row = scratch.model_logits;
  row.assign(logits.begin(), logits.end());
  normalize(row, scratch);
  if (const auto thrown = processors.process(row, history))
    throw generation_error({error::callback_threw, "the logits processor threw: " + *thrown});
  scan(row, scratch);
  collect_largest(row, count, scratch);
  std::vector<token_logprob> best;
  best.reserve(scratch.candidates.size());
  for (const auto& each : scratch.candidates) best.push_back({each.id, each.logit});
  return best;
}

}  // namespace cogen::decoding
