#include "sampling/sample.hpp"

#include "sampling/filters.hpp"
#include "sampling/inverse_distribution.hpp"
#include "sampling/logprobs.hpp"
#include "sampling/random_stream.hpp"
#include "sampling/row.hpp"
#include "sampling/softmax.hpp"

#include <exception>

namespace cogen {
namespace {

sampling_status status_of(const row_scan& scan) {
  if (!scan.finite) return sampling_status::not_finite;
  return scan.largest == -infinity ? sampling_status::nothing_left : sampling_status::ok;
}

/// Applies the mask, unless it leaves a single token, which it returns.
std::optional<token> apply_or_find_only(token_mask mask, std::span<float> logits) {
  const auto only = only_token(mask);
  if (!only) apply_mask(mask, logits);
  return only;
}

/// The one logit that a mask leaves, as scan_row() finds it.
row_scan only_one(float logit) { return {logit, logit < infinity}; }

sampled failed(sampling_status status) {
  sampled result;
  result.status = status;
  result.message = explain(status);
  return result;
}

sampled processor_failed(std::string_view reason) {
  sampled result;
  result.status = sampling_status::processor_failed;
  result.message = "the logits processor threw: ";
  result.message += reason;
  return result;
}

template <class T>
std::span<const T> part_of(const std::vector<T>& list, list_part part) {
  return std::span(list).subspan(part.begin, part.count);
}

bool inside(token id, std::span<const float> logits) { return id >= 0 && static_cast<std::size_t>(id) < logits.size(); }

void add(std::span<const token_bias> biases, std::span<float> logits) {
  for (const auto& each : biases)
    if (inside(each.id, logits)) logits[static_cast<std::size_t>(each.id)] += each.value;
}

void penalize_repetition(std::span<const token_count> counts, float factor, std::span<float> logits) {
  if (factor == 1) return;
  for (const auto& each : counts) {
    if (each.total == 0 || !inside(each.id, logits)) continue;
    float& logit = logits[static_cast<std::size_t>(each.id)];
    logit = logit < 0 ? logit * factor : logit / factor;
  }
}

void penalize_counts(std::span<const token_count> counts, float presence, float frequency, std::span<float> logits) {
  if (presence == 0 && frequency == 0) return;
  for (const auto& each : counts)
    if (each.generated > 0 && inside(each.id, logits))
      logits[static_cast<std::size_t>(each.id)] -= static_cast<float>(each.generated) * frequency + presence;
}

void forbid(std::span<const token_bias> tokens, std::span<float> logits) {
  for (const auto& each : tokens)
    if (inside(each.id, logits)) logits[static_cast<std::size_t>(each.id)] = -infinity;
}

std::optional<std::string> run_processor(const host_row& row, std::span<float> logits) try {
  if (row.processor) row.processor(logits);
  return {};
} catch (const std::exception& error) {
  return error.what();
} catch (...) {
  return "something that is not a std::exception";
}

filters filters_of(const sampling_row& row) { return {row.top_k, row.top_p, row.min_p}; }

/// Replaces `scratch.candidates` by the tokens that may be sampled, weighed; others may be among them with weight 0.
void keep_candidates(const filters& which, std::span<const float> logits, const softmax_scale& scale,
                     sampling_scratch& scratch) {
  if (!which.keep_all(logits.size())) return apply_filters(logits, which, scale, scratch);
  collect_at_least(logits, scratch.block_maxima, -infinity, scratch.candidates);
  weigh(scratch.candidates, scale);
}

token choose_from(const sampling_row& row, std::span<const float> logits, float largest, sampling_scratch& scratch) {
  if (row.greedy) return static_cast<token>(first_equal(logits, scratch.block_maxima, largest));
  const softmax_scale scale{largest, row.inverse_temperature};
  const double number = uniform(row.key);
  if (filters_of(row).keep_all(logits.size())) {
    const double total = weigh_row(logits, scale, scratch.weights, scratch.block_sums);
    return choose(scratch.weights, scratch.block_sums, total, number);
  }
  apply_filters(logits, filters_of(row), scale, scratch);
  return choose(scratch.candidates, number);
}

void report_processed(const sampling_row& row, std::span<const float> logits, float largest, sampling_scratch& scratch,
                      sampled& result) {
  const softmax_scale scale{largest, row.inverse_temperature};
  keep_candidates(filters_of(row), logits, scale, scratch);
  kept_logprobs kept(scratch.candidates, scale);
  result.logprob = kept.logprob(result.id);
  result.top = kept.top(row.top.count);
}

}  // namespace

std::string explain(sampling_status status) {
  switch (status) {
    case sampling_status::not_finite:
      return "a logit is NaN or plus infinity, so no token can be chosen";
    case sampling_status::nothing_left:
      return "every logit is minus infinity, so no token can be chosen";
    default:
      return {};
  }
}

sampled sample(const host_row& row, std::span<float> logits, sampling_scratch& scratch) {
  const auto& params = row.parameters;
  if (params.scored >= 0) return logprobs_of(logits, params.scored, params.top.count, scratch);
  const bool reports_raw = params.logprobs == sampled_logprobs::raw;
  if (reports_raw) scratch.model_logits.assign(logits.begin(), logits.end());
  if (const auto thrown = process(row, logits)) return processor_failed(*thrown);
  const auto mask = row.mask.empty() ? part_of(row.lists.masks, params.mask) : row.mask;
  const auto only = mask.empty() ? std::nullopt : apply_or_find_only(mask, logits);
  const auto scan = only ? only_one(logits[static_cast<std::size_t>(*only)]) : scan_row(logits, scratch.block_maxima);
  if (status_of(scan) != sampling_status::ok) return failed(status_of(scan));
  sampled result;
  result.id = only ? *only : choose_from(params, logits, scan.largest, scratch);
  if (params.logprobs == sampled_logprobs::none) return result;
  if (reports_raw)
    result = logprobs_of(scratch.model_logits, result.id, params.top.count, scratch);
  else if (!only && !params.greedy)
    report_processed(params, logits, scan.largest, scratch, result);
  else if (params.top.count > 0)
    result.top.push_back({result.id, 0});
  return result;
}

std::optional<std::string> process(const host_row& row, std::span<float> logits) {
  const auto& params = row.parameters;
  const auto counts = part_of(row.lists.counts, params.counts);
  add(part_of(row.lists.biases, params.biases), logits);
  penalize_repetition(counts, params.repetition_penalty, logits);
  penalize_counts(counts, params.presence_penalty, params.frequency_penalty, logits);
  forbid(part_of(row.lists.biases, params.held_back), logits);
  return run_processor(row, logits);
}

std::pair<sampling_status, std::vector<token_probability>> distribution(const host_row& row, std::span<float> logits,
                                                                        sampling_scratch& scratch) {
  const auto& params = row.parameters;
  if (process(row, logits)) return {sampling_status::processor_failed, {}};
  const row_scan scan = scan_row(logits, scratch.block_maxima);
  if (status_of(scan) != sampling_status::ok) return {status_of(scan), {}};
  if (params.greedy)
    return {sampling_status::ok, {{static_cast<token>(first_equal(logits, scratch.block_maxima, scan.largest)), 1}}};
  keep_candidates(filters_of(params), logits, {scan.largest, params.inverse_temperature}, scratch);
  const double total = total_weight(scratch.candidates);
  std::vector<token_probability> kept;
  for (const auto& each : scratch.candidates)
    if (each.weight > 0) kept.push_back({each.id, each.weight / total});
  return {sampling_status::ok, std::move(kept)};
}

sampled logprobs_of(std::span<const float> logits, token id, std::size_t count, sampling_scratch& scratch) {
  const row_scan scan = scan_row(logits, scratch.block_maxima);
  if (status_of(scan) != sampling_status::ok) return failed(status_of(scan));
  const row_logprobs logprobs(logits, scan.largest, scratch);
  sampled result;
  result.id = id;
  result.logprob = logprobs.logprob(id);
  result.top = logprobs.top(count, scratch);
  return result;
}

}  // namespace cogen
