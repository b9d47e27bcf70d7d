#pragma once

#include "cogen/token.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace cogen {

/// A token with the natural logarithm of its probability.
struct token_logprob {
  token id = 0;
  float logprob = 0;
};

/// A caller's own change of the logits before a token is chosen. `history` is everything the sequence holds, prompt
/// first; `logits` has one entry for each token of the vocabulary, may be changed freely, and is not valid after the
/// call. Minus infinity forbids a token; a NaN or plus infinity left behind ends the request with an error.
///
/// Called on the engine thread, once for each token of the request, between the model's forward and the choice: it must
/// not block, since every request waits for it. If it throws, its own request ends with an error that carries the
/// exception's message; the batch goes on.
using logits_processor = std::function<void(std::span<const token> history, std::span<float> logits)>;

/// How the next token is chosen from the model's logits. A value: copy it, keep it, give it to many requests.
///
///     auto lively = cogen::sampling().temperature(0.8).top_p(0.95).seed(7);
///
/// Each setter returns its own object, for chaining, and only stores: `validate()` judges the values, and the engine
/// calls it when the request is submitted. What is set takes effect in this order, that of Transformers' `generate`:
/// logit bias, repetition penalty, frequency and presence penalties, min_tokens, the caller's processor; then, unless
/// greedy, temperature, top_k, top_p, min_p, and the sample.
class sampling {
 public:
  static constexpr double min_temperature = 1e-6, max_temperature = 1e3;
  static constexpr double min_repetition_penalty = 1e-2, max_repetition_penalty = 1e2;
  static constexpr double max_count_penalty = 1e2;        ///< magnitude of frequency and presence penalties
  static constexpr double max_logit_bias = 1e9;           ///< magnitude of a finite bias
  static constexpr std::size_t max_logit_biases = 65536;  ///< tokens that may have one
  static constexpr std::int64_t max_logprobs = 128;       ///< entries for each token

  /// Greedy, with nothing else set.
  sampling();
  sampling(const sampling&);
  sampling(sampling&&) noexcept;
  sampling& operator=(const sampling&);
  sampling& operator=(sampling&&) noexcept;
  ~sampling();

  /// The token with the largest logit, the lowest id among equals; the same as temperature 0. top_k, top_p, min_p and
  /// seed have no effect then.
  sampling& greedy();

  /// Divides the logits: below 1 sharpens, above 1 flattens, 0 is greedy.
  sampling& temperature(double value);

  /// Keeps the k largest logits, and those equal to the smallest of them; 0 keeps all.
  sampling& top_k(std::int64_t count);

  /// Keeps the smallest set of most probable tokens whose probabilities reach `mass` (Holtzman et al. 2020,
  /// arXiv:1904.09751); 1 keeps all, 0 only the most probable.
  sampling& top_p(double mass);

  /// Keeps tokens at least `ratio` times as probable as the most probable one (Nguyen et al. 2024, arXiv:2407.01082); 0
  /// keeps all.
  sampling& min_p(double ratio);

  /// Divides positive and multiplies negative logits of the tokens that the prompt or the generated text holds (Keskar
  /// et al. 2019, arXiv:1909.05858); 1 is off.
  sampling& repetition_penalty(double factor);

  /// Subtracted from the logit of each token that was generated (the prompt does not count); 0 is off.
  sampling& presence_penalty(double value);

  /// Subtracted from a token's logit once for each time it was generated (the prompt does not count); 0 is off.
  sampling& frequency_penalty(double value);

  /// Added to this token's logit; minus infinity forbids the token. A later bias for the same token replaces the
  /// earlier one.
  sampling& logit_bias(token id, double value);

  /// Forbids the request's end tokens until this many tokens were generated.
  sampling& min_tokens(std::int64_t count);

  /// Names the random numbers. The same seed, prompt and parameters on the same build give the same tokens, whatever
  /// else is in the batch. Without one the engine draws a seed for each request.
  sampling& seed(std::uint64_t value);

  /// Reports each chosen token's log-probability and those of the `top` most probable tokens (0: the chosen one's
  /// alone). They are of the model's own distribution, before any parameter here: so they do not change with the
  /// parameters, can be compared between requests, and add up to the likelihood of the text.
  sampling& logprobs(std::int64_t top);

  /// A caller's own processor, run after the ones above and before temperature. An empty function takes it away.
  sampling& processor(logits_processor function);

  bool is_greedy() const { return temperature_ == 0; }
  double temperature() const { return temperature_; }
  std::int64_t top_k() const { return top_k_; }
  double top_p() const { return top_p_; }
  double min_p() const { return min_p_; }
  double repetition_penalty() const { return repetition_penalty_; }
  double presence_penalty() const { return presence_penalty_; }
  double frequency_penalty() const { return frequency_penalty_; }
  const std::map<token, double>& logit_bias() const { return logit_bias_; }
  std::int64_t min_tokens() const { return min_tokens_; }
  std::optional<std::uint64_t> seed() const { return seed_; }
  std::optional<std::int64_t> logprobs() const { return logprobs_; }
  const logits_processor& processor() const { return processor_; }

  /// What is wrong with these values for a model with so many tokens: the first offending parameter, its value and its
  /// limits in one sentence. Nothing where all is well.
  std::optional<std::string> problem(std::int64_t vocabulary) const;

  /// Throws std::invalid_argument with the sentence of `problem()` where there is one.
  void validate(std::int64_t vocabulary) const;

 private:
  double temperature_ = 0;
  std::int64_t top_k_ = 0;
  double top_p_ = 1;
  double min_p_ = 0;
  double repetition_penalty_ = 1;
  double presence_penalty_ = 0;
  double frequency_penalty_ = 0;
  std::map<token, double> logit_bias_;
  std::int64_t min_tokens_ = 0;
  std::optional<std::uint64_t> seed_;
  std::optional<std::int64_t> logprobs_;
  logits_processor processor_;
};

}  // namespace cogen
