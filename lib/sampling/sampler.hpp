#pragma once

#include "cogen/extend/sampling_row.hpp"
#include "cogen/sampling_params.hpp"
#include "cogen/token.hpp"
#include "sampling/filters.hpp"
#include "sampling/random_stream.hpp"
#include "sampling/scratch.hpp"
#include "sampling/token_history.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

/// Why nothing could be sampled from a row's logits; empty where something was.
std::string explain(sampling_status status);

/// The token chosen from one row of logits.
struct sampled {
  sampling_status status = sampling_status::ok;
  token id = 0;
  float logprob = 0;               ///< of the model's own distribution; set where logprobs were asked for
  std::vector<token_logprob> top;  ///< most probable first, the lowest id first among equals; as many as were asked for
  std::string message;             ///< explains a status other than `drawn`
};

/// A token that may be sampled, with its probability.
struct token_probability {
  token id = 0;
  double probability = 0;
};

/// Sampling parameters made ready for one model. Immutable: one sampler may serve many sequences, and many threads at
/// once when each brings its own history and scratch.
class sampler {
 public:
  /// Throws std::invalid_argument where `parameters.validate(vocabulary)` does. `end_tokens` are what min_tokens holds
  /// back; those outside the vocabulary are ignored.
  sampler(sampling_params parameters, std::int64_t vocabulary, std::span<const token> end_tokens = {});

  const sampling_params& parameters() const { return parameters_; }

  /// True where a sample runs the caller's own code, which belongs on the engine thread.
  bool has_processor() const { return static_cast<bool>(parameters_.processor); }

  /// Chooses the token after `history`. `logits` [vocabulary] is changed; the history is not appended to. Throws only
  /// for want of memory: bad logits and a throwing processor are a status. The sample is by inverse distribution
  /// function over the kept tokens in order of their ids: the first whose cumulative probability exceeds
  /// `uniform(key)`. It depends on nothing but the arguments' values.
  sampled sample(std::span<float> logits, token_history& history, const sampling_key& key,
                 sampling_scratch& scratch) const;

  /// Writes to `row` what a device needs for the sample that comes after `history`, its slot and its key left out, and
  /// appends to `lists`. With `unknown_last` the history lacks its newest token, a generated one. False, with nothing
  /// changed, where the sample runs the caller's own code or reports log-probabilities. Throws std::bad_alloc; what was
  /// appended then belongs to no row.
  bool describe(sampling_row& row, sampling_lists& lists, token_history& history, bool unknown_last) const;

  /// The probabilities `draw` would choose by, in order of ids, tokens of probability 0 left out; one token of
  /// probability 1 where greedy. `logits` is changed. Empty with another status than `drawn`.
  std::pair<sampling_status, std::vector<token_probability>> distribution(std::span<float> logits,
                                                                          token_history& history,
                                                                          sampling_scratch& scratch) const;

 private:
  void process(std::span<float> logits, token_history& history) const;
  std::optional<std::string> run_processor(std::span<float> logits, const token_history& history) const;
  void add_biases(std::span<float> logits) const;
  void penalize_repetition(std::span<float> logits, token_history& history) const;
  void penalize_counts(std::span<float> logits, token_history& history) const;
  void hold_back_end_tokens(std::span<float> logits, const token_history& history) const;
  token choose_from(std::span<const float> logits, float largest, const sampling_key& key,
                    sampling_scratch& scratch) const;
  bool holds_back(std::size_t generated) const;
  void report(sampled& result, sampling_scratch& scratch) const;

  sampling_params parameters_;
  filters filters_;
  float inverse_temperature_ = 1;
  std::vector<token_bias> biases_;
  std::vector<token> end_tokens_;
};

}  // namespace cogen
