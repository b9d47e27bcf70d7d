#pragma once

#include "api/field_reader.hpp"
#include "api/generation.hpp"

#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace server::api {

/// What makes tokens of texts, if anything does, how many tokens a sequence holds, and how many last ones are kept.
struct prompt_tokenizer {
  const cogen::text::tokenizer* tokens = nullptr;
  int length = 0;
  std::optional<int> truncate = {};
};

/// The prompts of a field: a text, token ids, both in an array, or an array of several prompts; at least one. Control
/// tokens count in texts, since clients apply templates of their own. Throws api::error, also for a text that is bound
/// to have more tokens than a sequence.
std::vector<cogen::prompt> read_prompts(const field_reader& body, std::string_view name,
                                        prompt_tokenizer tokenizer = {});

/// How many prompts a field has, before any of them is read.
std::size_t count_prompts(const field_reader& body, std::string_view name);

/// What /v1/completions has besides: `logprobs`, `echo`, `best_of` and the format. Returns `best_of`.
int read_completion(const field_reader& body, generation& wanted);

/// Refuses so many prompts, with so many answers each, if that is more than 1,024 generations.
void check_generations(const field_reader& body, std::size_t prompts, int answers);

/// Log-probabilities of other tokens that an answer may hold beside its own and those of its prompts.
inline constexpr std::size_t max_logprobs_of_answer = 1 << 18;

/// Throws api::error if the prompts, each of which has those of `request`, would bring more.
void check_prompt_logprobs(const field_reader& body, std::span<const cogen::prompt> prompts,
                           const cogen::request& request);

}  // namespace server::api
