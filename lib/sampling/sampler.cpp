#include "sampling/sampler.hpp"

#include "sampling/row.hpp"

#include <algorithm>
#include <functional>

namespace cogen {
namespace {

/// Counts one more generated token among the counts that were appended since there were `begin` of them.
void count_generated(token id, std::size_t begin, std::vector<token_count>& counts) {
  auto found = std::find_if(counts.begin() + static_cast<std::ptrdiff_t>(begin), counts.end(),
                            [&](const token_count& entry) { return entry.id == id; });
  if (found == counts.end()) found = counts.insert(found, token_count{id, 0, 0});
  ++found->total;
  ++found->generated;
}

/// What was appended to `list` since it had `begin` entries.
template <typename T>
list_part part_from(std::size_t begin, const std::vector<T>& list) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(list.size() - begin)};
}

template <typename T>
list_part appended(const std::vector<T>& part, std::vector<T>& list) {
  const auto begin = list.size();
  list.insert(list.end(), part.begin(), part.end());
  return part_from(begin, list);
}

}  // namespace

sampler::sampler(sampling_params parameters, std::int64_t vocabulary, std::span<const token> end_tokens)
    : sampler(vocabulary, std::make_shared<const sampling_params>(std::move(parameters)), end_tokens) {}

sampler::sampler(std::int64_t vocabulary, std::shared_ptr<const sampling_params> parameters,
                 std::span<const token> end_tokens)
    : parameters_(std::move(parameters)) {
  parameters_->validate(vocabulary);
  for (const auto& [id, value] : parameters_->logit_bias) biases_.push_back({id, static_cast<float>(value)});
  for (const token id : end_tokens)
    if (id >= 0 && id < vocabulary) end_tokens_.push_back(id);
  row_.by_host = has_processor();
  row_.greedy = parameters_->greedy();
  if (!row_.greedy) row_.inverse_temperature = static_cast<float>(1 / parameters_->temperature);
  row_.top_k = static_cast<std::uint32_t>(std::min<std::int64_t>(parameters_->top_k, UINT32_MAX));
  row_.top_p = parameters_->top_p;
  row_.min_p = static_cast<float>(parameters_->min_p);
  row_.repetition_penalty = static_cast<float>(parameters_->repetition_penalty);
  row_.presence_penalty = static_cast<float>(parameters_->presence_penalty);
  row_.frequency_penalty = static_cast<float>(parameters_->frequency_penalty);
  if (parameters_->logprobs) {
    const bool raw = parameters_->logprobs_mode == logprobs_mode::raw;
    row_.logprobs = raw ? sampled_logprobs::raw : sampled_logprobs::processed;
    row_.top.count = static_cast<std::uint32_t>(*parameters_->logprobs);
  }
  has_lists_ = !biases_.empty() || holds_back(0) || penalizes() || parameters_->logprobs.has_value();
}

void sampler::append_lists(sampling_row& row, token_history& history, std::span<const token> drafts,
                           sampling_lists& lists) const {
  if (!biases_.empty()) row.biases = appended(biases_, lists.biases);
  const auto generated = history.generated() + drafts.size() + (row.unknown_last ? 1 : 0);
  if (holds_back(generated)) row.held_back = hold_back(lists.biases);
  if (penalizes()) row.counts = count(history, drafts, lists.counts);
  row.top.begin = lists.top_logprobs;
  lists.top_logprobs += row.top.count;
}

list_part sampler::hold_back(std::vector<token_bias>& biases) const {
  const auto begin = biases.size();
  for (const token id : end_tokens_) biases.push_back({id, -infinity});
  return part_from(begin, biases);
}

list_part sampler::count(token_history& history, std::span<const token> drafts,
                         std::vector<token_count>& counts) const {
  const auto begin = counts.size();
  const bool repeats = row_.repetition_penalty != 1;
  for (const auto& each : history.counts())
    if (each.generated > 0 || (repeats && each.total > 0)) counts.push_back(each);
  for (const token id : drafts) count_generated(id, begin, counts);
  return part_from(begin, counts);
}

template <class Call>
auto sampler::with_row(token_history& history, const sampling_key& key, token_mask mask, const Call& call) const {
  sampling_lists lists;
  auto row = row_after(history, false, {}, lists);
  row.key = key;
  std::function<void(std::span<float>)> processor;
  if (has_processor())
    processor = [this, &history](std::span<float> logits) { parameters_->processor(history.tokens(), logits); };
  return call(host_row{row, lists, processor, mask});
}

sampled sampler::sample(std::span<float> logits, token_history& history, const sampling_key& key,
                        sampling_scratch& scratch, token_mask mask) const {
  return with_row(history, key, mask, [&](const host_row& row) { return cogen::sample(row, logits, scratch); });
}

std::optional<std::string> sampler::process(std::span<float> logits, token_history& history) const {
  return with_row(history, {}, {}, [&](const host_row& row) { return cogen::process(row, logits); });
}

std::pair<sampling_status, std::vector<token_probability>> sampler::distribution(std::span<float> logits,
                                                                                 token_history& history,
                                                                                 sampling_scratch& scratch) const {
  return with_row(history, {}, {}, [&](const host_row& row) { return cogen::distribution(row, logits, scratch); });
}

bool sampler::penalizes() const {
  return row_.repetition_penalty != 1 || row_.presence_penalty != 0 || row_.frequency_penalty != 0;
}

bool sampler::holds_back(std::size_t generated) const {
  return static_cast<std::int64_t>(generated) < parameters_->min_tokens;
}

}  // namespace cogen
