#pragma once

#include <cogen/strategy.hpp>

namespace cogen {

/// How much a prompt guides its generation. The names are those of Transformers' `generate`.
struct guidance_params {
  static constexpr double max_guidance_scale = 100;  ///< its magnitude

  double guidance_scale = 1.5;  ///< 1: as without guidance; above 1: further from what follows the negative prompt
  std::vector<token> negative_prompt_ids = {};  ///< what to keep away from; empty: the last token of the prompt

  void validate() const;  ///< throws std::invalid_argument naming the parameter, its value and its limits
};

/// Classifier-free guidance (Sanchez et al. 2023, arXiv:2306.17806): each token is sampled from log-probabilities after
/// the prompt that are moved away from those after the negative prompt, u + guidance_scale * (c - u), by the request's
/// sampling parameters. Both prompts are followed by the same tokens, in two sequences whose steps share a batch. The
/// tokens are those of Transformers' `generate` with `guidance_scale`.
///
///     auto stream = engine.generate({.prompt = prompt, .max_tokens = 64}, cogen::guidance({.guidance_scale = 1.5}));
///     while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
///
/// The stream gets its text token by token. Its log-probabilities are those of the guided distribution. Throws what
/// `params.validate()` throws; a token of the negative prompt that is not in the vocabulary fails the stream with
/// error::invalid_request.
[[nodiscard]] strategy guidance(guidance_params params = {});

}  // namespace cogen
