#pragma once

#include <cogen/token.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cogen {

/// Changes the logits before a token is chosen. `history` is everything the sequence holds, prompt first. `logits` has
/// one entry for each token of the vocabulary, may be changed freely, and is valid during the call only. Minus infinity
/// forbids a token; a NaN or plus infinity left behind ends the request with an error.
///
/// Called on the engine thread, once for each token of the request, after the model's forward pass. It must not block:
/// every request waits for it. If it throws, its own request fails with the exception's message; the batch goes on.
using logits_processor = std::function<void(std::span<const token> history, std::span<float> logits)>;

/// Of which distribution log-probabilities are reported; vLLM's `logprobs_mode` has the same words.
enum class logprobs_mode : std::uint8_t {
  raw,        ///< the model's own, before any parameter
  processed,  ///< the one that tokens are sampled from: after all parameters, the mask of a format, and the filters
};

/// How the next token is chosen from the model's logits. By default the most likely one is taken.
///
///     cogen::sampling_params{.temperature = 0.8, .top_p = 0.95, .seed = 7}
///
/// Applied in the order of Transformers' `generate`: logit_bias, repetition_penalty, frequency_penalty and
/// presence_penalty, min_tokens, processor, the mask of request::response_format; then, where temperature is not 0,
/// temperature, top_k, top_p, min_p.
struct sampling_params {
  static constexpr double min_temperature = 1e-6, max_temperature = 1e3;
  static constexpr double min_repetition_penalty = 1e-2, max_repetition_penalty = 1e2;
  static constexpr double max_count_penalty = 1e2;        ///< magnitude of frequency and presence penalties
  static constexpr double max_logit_bias = 1e9;           ///< magnitude of a finite bias
  static constexpr std::size_t max_logit_biases = 65536;  ///< tokens that may have one
  static constexpr std::int64_t max_logprobs = 128;       ///< entries for each token
  /// Divides the logits: below 1 sharpens, above 1 flattens. 0 is greedy: the token with the largest logit, the lowest
  /// id among equals; top_k, top_p, min_p and seed have no effect then.
  double temperature = 0;

  std::int64_t top_k = 0;  ///< keeps the k largest logits, and those equal to the smallest of them; 0 keeps all
  /// Keeps the smallest set of most probable tokens whose probabilities reach this sum (Holtzman et al. 2020,
  /// arXiv:1904.09751). 1 keeps all, 0 only the most probable.
  double top_p = 1;
  /// Keeps tokens at least this many times as probable as the most probable one (arXiv:2407.01082). 0 keeps all.
  double min_p = 0;
  /// Divides positive and multiplies negative logits of the tokens that the prompt or the generated text holds (Keskar
  /// et al. 2019, arXiv:1909.05858). 1 is off.
  double repetition_penalty = 1;

  // Of these two the prompt does not count, and 0 is off.
  double presence_penalty = 0;   ///< subtracted from the logit of each token that was generated
  double frequency_penalty = 0;  ///< subtracted from a token's logit once for each time it was generated

  std::map<token, double> logit_bias = {};  ///< added to the logits of these tokens; minus infinity forbids a token
  std::int64_t min_tokens = 0;              ///< forbids the request's end tokens until this many tokens were generated
  /// Seeds the random numbers. The same seed, prompt and parameters on the same build give the same tokens, whatever
  /// else is in the batch. Empty: the engine picks a seed for each request.
  std::optional<std::uint64_t> seed = {};
  /// Reports each chosen token's log-probability and those of so many most probable tokens; 0: the chosen one's alone.
  /// Empty: none.
  std::optional<std::int64_t> logprobs = {};
  /// What `logprobs` are of. Processed ones are of tokens that may be sampled, which may be fewer than were asked for,
  /// and of the chosen one alone, with probability 1, where temperature is 0.
  cogen::logprobs_mode logprobs_mode = cogen::logprobs_mode::raw;

  logits_processor processor = {};  ///< the caller's own; empty: none

  [[nodiscard]] bool greedy() const noexcept { return temperature == 0; }

  /// The first parameter that is wrong for a vocabulary of this size, its value and its limits, in a message.
  [[nodiscard]] std::optional<std::string> problem(std::int64_t vocabulary) const;
  /// Throws std::invalid_argument with the message of `problem()` if there is one.
  void validate(std::int64_t vocabulary) const;
};

/// A token that was sampled.
struct sampled_token {
  token id = 0;
  float logprob = 0;  ///< of the distribution of its logprobs_mode; set where the request asked for it
  std::vector<token_logprob> top = {};  ///< the most probable tokens, as many as the request asked for
};

}  // namespace cogen
