#pragma once

#include <cogen/strategy.hpp>

#include <cstdint>

namespace cogen {

/// When a beam search ends before `max_tokens`. In Transformers' words: False, True and "never".
enum class early_stopping : std::uint8_t {
  off,    ///< when `num_beams` hypotheses have ended, and the best beam's score at its present length is no better
  on,     ///< as soon as `num_beams` hypotheses have ended
  never,  ///< when `num_beams` hypotheses have ended, and no beam can become better at any length
};

/// How a beam search selects. The names are those of Transformers' GenerationConfig.
struct beam_search_params {
  static constexpr int max_beams = 256;
  static constexpr double max_length_penalty = 100;  ///< its magnitude

  int num_beams = 4;             ///< hypotheses that are continued in each step, from 1 to max_beams
  int num_return_sequences = 1;  ///< streams, the best hypothesis first; at most num_beams
  /// A hypothesis' score is the sum of its log-probabilities, that of its end token too, divided by its length to this
  /// power. Above 0 favors longer ones, below 0 shorter ones.
  double length_penalty = 1;
  cogen::early_stopping early_stopping = cogen::early_stopping::off;

  void validate() const;  ///< throws std::invalid_argument naming the parameter, its value and its limits
};

/// Searches the most probable continuations: in each step the `num_beams` best ones go on, as forks that share the
/// prompt's cache and run in one batch. Finds the hypotheses of Transformers' `generate` with `num_beams`, with the
/// same scores up to rounding: log-probabilities are float32, and added in float32 in the order of the tokens.
///
///     auto streams = engine.generate({.prompt = cogen::chat("…")}, cogen::beam_search({.num_beams = 4}));
///     const auto best = co_await streams[0].async_complete();
///
/// The streams get their text at the end, and token_stream::score() is their score. Each token has the log-probability
/// that counts in it. Of request::sampling it applies logit_bias, the penalties, min_tokens and processor, to
/// log-probabilities as Transformers does; a temperature, `logprobs` above 0 or processed, and stop strings are refused
/// with error::invalid_request. Without a continuation that is possible the search fails with error::bad_logits. An
/// operation of a beam that fails, fails it too. Throws what `params.validate()` throws.
[[nodiscard]] group_strategy beam_search(beam_search_params params = {});

}  // namespace cogen
