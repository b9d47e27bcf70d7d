#include "sampling/sampler.hpp"

#include "sampling/inverse_distribution.hpp"
#include "sampling/logprobs.hpp"
#include "sampling/row.hpp"
#include "sampling/softmax.hpp"

#include <algorithm>
#include <exception>
#include <limits>

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

bool inside(token id, std::span<const float> logits) { return id >= 0 && static_cast<std::size_t>(id) < logits.size(); }

/// Counts one more generated token among the counts that were appended since there were `begin` of them.
void count_generated(token id, std::size_t begin, std::vector<token_count>& counts) {
  auto found = std::find_if(counts.begin() + static_cast<std::ptrdiff_t>(begin), counts.end(),
                            [&](const token_count& each) { return each.id == id; });
  if (found == counts.end()) found = counts.insert(found, token_count{id, 0, 0});
  ++found->total;
  ++found->generated;
}

/// What was appended to `list` since it had `begin` entries.
template <typename T>
list_part part_from(std::size_t begin, const std::vector<T>& list) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(list.size() - begin)};
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

sampled logprobs_of(std::span<const float> logits, token id, std::size_t count, sampling_scratch& scratch) {
  const row_scan scan = scan_row(logits, scratch.block_maxima);
  if (status_of(scan) != sampling_status::ok) return failed(status_of(scan));
  const row_logprobs logprobs(logits, scan.largest, scratch);
  sampled result;
  result.id = id;
  result.logprob = logprobs.of(id);
  result.top = logprobs.top(count, scratch);
  return result;
}

sampler::sampler(sampling_params parameters, std::int64_t vocabulary, std::span<const token> end_tokens)
    : sampler(vocabulary, std::make_shared<const sampling_params>(std::move(parameters)), end_tokens) {}

sampler::sampler(std::int64_t vocabulary, std::shared_ptr<const sampling_params> parameters,
                 std::span<const token> end_tokens)
    : parameters_(std::move(parameters)) {
  parameters_->validate(vocabulary);
  filters_ = {static_cast<std::size_t>(parameters_->top_k), parameters_->top_p, static_cast<float>(parameters_->min_p)};
  if (!parameters_->greedy()) inverse_temperature_ = static_cast<float>(1 / parameters_->temperature);
  biases_.reserve(parameters_->logit_bias.size());
  for (const auto& [id, value] : parameters_->logit_bias) biases_.push_back({id, static_cast<float>(value)});
  for (const token id : end_tokens)
    if (id >= 0 && id < vocabulary) end_tokens_.push_back(id);
}

sampled sampler::sample(std::span<float> logits, token_history& history, const sampling_key& key,
                        sampling_scratch& scratch, token_mask mask) const {
  const bool reports_raw = parameters_->logprobs && parameters_->logprobs_mode == logprobs_mode::raw;
  if (reports_raw) scratch.model_logits.assign(logits.begin(), logits.end());
  if (const auto thrown = process(logits, history)) return processor_failed(*thrown);
  const auto only = mask.empty() ? std::nullopt : apply_or_find_only(mask, logits);
  const auto scan = only ? only_one(logits[static_cast<std::size_t>(*only)]) : scan_row(logits, scratch.block_maxima);
  if (status_of(scan) != sampling_status::ok) return failed(status_of(scan));
  sampled result;
  result.id = only ? *only : choose_from(logits, scan.largest, key, scratch);
  if (!parameters_->logprobs) return result;
  if (reports_raw)
    result = logprobs_of(scratch.model_logits, result.id, static_cast<std::size_t>(*parameters_->logprobs), scratch);
  else if (!only && !parameters_->greedy())
    report_processed(logits, scan.largest, scratch, result);
  else if (*parameters_->logprobs > 0)
    result.top.push_back({result.id, 0});
  return result;
}

void sampler::report_processed(std::span<const float> logits, float largest, sampling_scratch& scratch,
                               sampled& into) const {
  const softmax_scale scale{largest, inverse_temperature_};
  keep_candidates(logits, scale, scratch);
  kept_logprobs kept(scratch.candidates, scale);
  into.logprob = kept.of(into.id);
  into.top = kept.top(static_cast<std::size_t>(*parameters_->logprobs));
}

token sampler::choose_from(std::span<const float> logits, float largest, const sampling_key& key,
                           sampling_scratch& scratch) const {
  if (parameters_->greedy()) return static_cast<token>(first_equal(logits, scratch.block_maxima, largest));
  const softmax_scale scale{largest, inverse_temperature_};
  if (filters_.keep_all(logits.size())) {
    const double total = weigh_row(logits, scale, scratch.weights, scratch.block_sums);
    return choose(scratch.weights, scratch.block_sums, total, uniform(key));
  }
  apply_filters(logits, filters_, scale, scratch);
  return choose(scratch.candidates, uniform(key));
}

bool sampler::describe(sampling_row& row, sampling_lists& lists, token_history& history, bool unknown_last,
                       token_mask mask, std::span<const token> drafts) const {
  if (has_processor()) return false;
  sampling_row made;
  made.slot = row.slot;
  made.greedy = parameters_->greedy();
  made.unknown_last = unknown_last;
  made.inverse_temperature = inverse_temperature_;
  made.top_k = static_cast<std::uint32_t>(std::min<std::size_t>(filters_.top_k, UINT32_MAX));
  made.top_p = filters_.top_p;
  made.min_p = filters_.min_p;
  made.repetition_penalty = static_cast<float>(parameters_->repetition_penalty);
  made.presence_penalty = static_cast<float>(parameters_->presence_penalty);
  made.frequency_penalty = static_cast<float>(parameters_->frequency_penalty);
  auto begin = lists.biases.size();
  lists.biases.insert(lists.biases.end(), biases_.begin(), biases_.end());
  made.biases = part_from(begin, lists.biases);
  begin = lists.biases.size();
  if (holds_back(history.generated() + drafts.size() + (unknown_last ? 1 : 0)))
    for (const token id : end_tokens_) lists.biases.push_back({id, -infinity});
  made.held_back = part_from(begin, lists.biases);
  begin = lists.counts.size();
  const bool repeats = made.repetition_penalty != 1;
  if (repeats || made.presence_penalty != 0 || made.frequency_penalty != 0) {
    for (const auto& count : history.counts())
      if (count.generated > 0 || (repeats && count.total > 0)) lists.counts.push_back(count);
    for (const token id : drafts) count_generated(id, begin, lists.counts);
  }
  made.counts = part_from(begin, lists.counts);
  begin = lists.masks.size();
  lists.masks.insert(lists.masks.end(), mask.begin(), mask.end());
  made.mask = part_from(begin, lists.masks);
  if (parameters_->logprobs) {
    const bool raw = parameters_->logprobs_mode == logprobs_mode::raw;
    made.logprobs = raw ? sampled_logprobs::raw : sampled_logprobs::processed;
    made.top = {lists.top_logprobs, static_cast<std::uint32_t>(*parameters_->logprobs)};
    lists.top_logprobs += made.top.count;
  }
  row = made;
  return true;
}

std::pair<sampling_status, std::vector<token_probability>> sampler::distribution(std::span<float> logits,
                                                                                 token_history& history,
                                                                                 sampling_scratch& scratch) const {
  if (process(logits, history)) return {sampling_status::processor_failed, {}};
  const row_scan scan = scan_row(logits, scratch.block_maxima);
  if (status_of(scan) != sampling_status::ok) return {status_of(scan), {}};
  if (parameters_->greedy())
    return {sampling_status::ok, {{static_cast<token>(first_equal(logits, scratch.block_maxima, scan.largest)), 1}}};
  keep_candidates(logits, {scan.largest, inverse_temperature_}, scratch);
  const double total = total_weight(scratch.candidates);
  std::vector<token_probability> kept;
  for (const auto& each : scratch.candidates)
    if (each.weight > 0) kept.push_back({each.id, each.weight / total});
  return {sampling_status::ok, std::move(kept)};
}

/// Replaces `scratch.candidates` by the tokens that may be sampled, weighed; others may be among them with weight 0.
void sampler::keep_candidates(std::span<const float> logits, const softmax_scale& scale,
                              sampling_scratch& scratch) const {
  if (!filters_.keep_all(logits.size())) return apply_filters(logits, filters_, scale, scratch);
  collect_at_least(logits, scratch.block_maxima, -infinity, scratch.candidates);
  weigh(scratch.candidates, scale);
}

std::optional<std::string> sampler::process(std::span<float> logits, token_history& history) const {
  add_biases(logits);
  penalize_repetition(logits, history);
  penalize_counts(logits, history);
  hold_back_end_tokens(logits, history);
  return run_processor(logits, history);
}

std::optional<std::string> sampler::run_processor(std::span<float> logits, const token_history& history) const try {
  if (has_processor()) parameters_->processor(history.tokens(), logits);
  return {};
} catch (const std::exception& error) {
  return error.what();
} catch (...) {
  return "something that is not a std::exception";
}

void sampler::add_biases(std::span<float> logits) const {
  for (const auto& each : biases_)
    if (inside(each.id, logits)) logits[static_cast<std::size_t>(each.id)] += each.value;
}

void sampler::penalize_repetition(std::span<float> logits, token_history& history) const {
  const auto factor = static_cast<float>(parameters_->repetition_penalty);
  if (factor == 1) return;
  for (const auto& count : history.counts()) {
    if (count.total == 0 || !inside(count.id, logits)) continue;
    float& logit = logits[static_cast<std::size_t>(count.id)];
    logit = logit < 0 ? logit * factor : logit / factor;
  }
}

void sampler::penalize_counts(std::span<float> logits, token_history& history) const {
  const auto presence = static_cast<float>(parameters_->presence_penalty);
  const auto frequency = static_cast<float>(parameters_->frequency_penalty);
  if (presence == 0 && frequency == 0) return;
  for (const auto& count : history.counts())
    if (count.generated > 0 && inside(count.id, logits))
      logits[static_cast<std::size_t>(count.id)] -= static_cast<float>(count.generated) * frequency + presence;
}

bool sampler::holds_back(std::size_t generated) const {
  return static_cast<std::int64_t>(generated) < parameters_->min_tokens;
}

void sampler::hold_back_end_tokens(std::span<float> logits, const token_history& history) const {
  if (!holds_back(history.generated())) return;
  for (const token id : end_tokens_)
    if (inside(id, logits)) logits[static_cast<std::size_t>(id)] = -infinity;
}

}  // namespace cogen
