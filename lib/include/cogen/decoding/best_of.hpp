#pragma once

#include <cogen/strategy.hpp>

#include <cstdint>

namespace cogen {

/// What best_of() ranks samples by.
enum class best_of_score : std::uint8_t {
  mean_logprob,  ///< the mean log-probability of the tokens
  sum_logprob,   ///< their sum, which favors short samples
};

/// How many samples there are, and what ranks them.
struct best_of_params {
  static constexpr int max_samples = 256;

  int n = 4;  ///< samples, from 1 to max_samples
  best_of_score score = best_of_score::mean_logprob;

  void validate() const;  ///< throws std::invalid_argument naming the parameter, its value and its limits
};

/// Samples `n` generations beside each other, as forks that share the prompt's cache, and gives the best one. Its score
/// is computed from the model's own distribution, with the end token, and is token_stream::score(). A sample that can
/// no longer become the best one leaves the batch.
///
///     auto stream = engine.generate({.prompt = prompt, .sampling = {.temperature = 0.8}}, cogen::best_of({.n = 8}));
///
/// The stream gets its text at the end. Greedy sampling, processed log-probabilities and stop strings are refused
/// with error::invalid_request. Throws what `params.validate()` throws.
[[nodiscard]] strategy best_of(best_of_params params = {});

}  // namespace cogen
