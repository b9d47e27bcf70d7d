#pragma once

#include "cogen/extend/sampling_row.hpp"
#include "cogen/sampling_params.hpp"
#include "cogen/token.hpp"
#include "sampling/filters.hpp"
#include "sampling/random_stream.hpp"
#include "sampling/scratch.hpp"
#include "sampling/token_history.hpp"
#include "sampling/token_mask.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

/// Why no token could be sampled from a row's logits; empty for ok.
std::string explain(sampling_status status);

/// The token sampled from one row of logits.
struct sampled {
  sampling_status status = sampling_status::ok;
  token id = 0;
  float logprob = 0;               ///< of the distribution of its logprobs_mode; set if logprobs were requested
  std::vector<token_logprob> top;  ///< most probable first, the lowest id first among equals; as many as were requested
  std::string message;             ///< explains a status other than `ok`
};

/// The log-probability of a token, and the `count` most probable ones. `logits` are the model's own. Throws only if
/// memory runs out: bad logits are a status.
sampled logprobs_of(std::span<const float> logits, token id, std::size_t count, sampling_scratch& scratch);

/// A token that may be sampled, with its probability.
struct token_probability {
  token id = 0;
  double probability = 0;
};

/// Sampling parameters prepared for one model. Immutable: sequences and threads may share a sampler if each has its own
/// history and scratch.
class sampler {
 public:
  /// Throws std::invalid_argument if `parameters.validate(vocabulary)` does. min_tokens holds back `end_tokens`; those
  /// outside the vocabulary are ignored.
  sampler(sampling_params parameters, std::int64_t vocabulary, std::span<const token> end_tokens = {});

  /// The same without a copy of the parameters.
  static sampler sharing(std::shared_ptr<const sampling_params> parameters, std::int64_t vocabulary,
                         std::span<const token> end_tokens = {}) {
    return {vocabulary, std::move(parameters), end_tokens};
  }

  const sampling_params& parameters() const { return *parameters_; }

  /// True if a sample runs the caller's own code, which belongs on the engine thread.
  bool has_processor() const { return static_cast<bool>(parameters_->processor); }

  /// Changes `logits` [vocabulary] as sample() does before it chooses: logit_bias, the penalties, min_tokens,
  /// processor. Returns the message of a processor that threw.
  std::optional<std::string> process(std::span<float> logits, token_history& history) const;

  /// Samples the token after `history`. `logits` [vocabulary] is modified; the history is not appended to. Throws only
  /// if memory runs out: bad logits and a throwing processor are a status. Samples by the inverse distribution function
  /// over the kept tokens in order of their ids: the first token whose cumulative probability exceeds `uniform(key)`.
  /// The mask applies after the processor and before the filters. Depends only on the arguments' values.
  sampled sample(std::span<float> logits, token_history& history, const sampling_key& key, sampling_scratch& scratch,
                 token_mask mask = {}) const;

  /// Writes to `row` what a device needs for the sample after `history`, except its slot and its key, and appends to
  /// `lists`. With `unknown_last` the history lacks its newest token, a generated one. `drafts` count as generated
  /// after it. Returns false and changes nothing if the sample runs the caller's own code. Throws std::bad_alloc; what
  /// was appended then belongs to no row.
  bool describe(sampling_row& row, sampling_lists& lists, token_history& history, bool unknown_last,
                token_mask mask = {}, std::span<const token> drafts = {}) const;

  /// The probabilities that sample() uses, in order of ids, without tokens of probability 0; one token of probability 1
  /// if greedy. `logits` is modified. Empty with a status other than `ok`.
  std::pair<sampling_status, std::vector<token_probability>> distribution(std::span<float> logits,
                                                                          token_history& history,
                                                                          sampling_scratch& scratch) const;

 private:
  sampler(std::int64_t vocabulary, std::shared_ptr<const sampling_params> parameters,
          std::span<const token> end_tokens);

  std::optional<std::string> run_processor(std::span<float> logits, const token_history& history) const;
  void add_biases(std::span<float> logits) const;
  void penalize_repetition(std::span<float> logits, token_history& history) const;
  void penalize_counts(std::span<float> logits, token_history& history) const;
  void hold_back_end_tokens(std::span<float> logits, const token_history& history) const;
  token choose_from(std::span<const float> logits, float largest, const sampling_key& key,
                    sampling_scratch& scratch) const;
  void keep_candidates(std::span<const float> logits, const softmax_scale& scale, sampling_scratch& scratch) const;
  void report_processed(std::span<const float> logits, float largest, sampling_scratch& scratch, sampled& into) const;
  bool holds_back(std::size_t generated) const;

  std::shared_ptr<const sampling_params> parameters_;
  filters filters_;
  float inverse_temperature_ = 1;
  std::vector<token_bias> biases_;
  std::vector<token> end_tokens_;
};

}  // namespace cogen
