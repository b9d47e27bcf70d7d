#pragma once

#include <cogen/metrics.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/text/tokenizer.hpp>
#include <cogen/token_stream.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace server::api {

/// What all parts of an answer repeat.
struct answer_head {
  std::string id;
  std::string object;  ///< "chat.completion", …
  std::int64_t created = 0;
  std::string model;

  /// With a `system_fingerprint` that begins with b, as llama.cpp's builds do.
  boost::json::object with(boost::json::array choices) const;
};

/// A random name with a prefix, such as "chatcmpl-…".
std::string new_id(std::string_view prefix);

std::int64_t unix_time();  ///< seconds

/// OpenAI's word for how a generation ended.
std::string_view finish_of(cogen::finish_reason reason, bool has_calls) noexcept;

/// Adds up the usage of generations; those of one prompt count it once.
class usage_sum {
 public:
  void add_prompt(const cogen::usage& counts);  ///< its prompt, and what it generated
  void add(const cogen::usage& counts);         ///< what it generated
  boost::json::object json() const;
  int prompt_tokens() const noexcept { return prompt_; }
  int generated_tokens() const noexcept { return generated_; }
  int cached_tokens() const noexcept { return cached_; }

 private:
  int prompt_ = 0, cached_ = 0, generated_ = 0, drafts_ = 0, accepted_drafts_ = 0;
};

/// The log-probabilities of a chat's tokens, as `logprobs.content`.
boost::json::array chat_logprobs(std::span<const cogen::sampled_token> tokens,
                                 const cogen::text::tokenizer& vocabulary);

/// The probabilities of tokens, in llama-server's words, from log-probabilities of those that may be sampled.
boost::json::array token_probabilities(std::span<const cogen::sampled_token> tokens,
                                       const cogen::text::tokenizer& vocabulary);

/// vLLM's `prompt_logprobs`: an object of the tokens that might stand in each place, null for the first.
boost::json::array prompt_logprobs(std::span<const cogen::sampled_token> tokens,
                                   const cogen::text::tokenizer& vocabulary);

/// Speeds and counts in the words of llama.cpp's server.
boost::json::object timings_of(const cogen::usage& usage, const cogen::request_metrics& times);
boost::json::object timings_of(const cogen::token_stream& stream);
boost::json::object timings_of(const cogen::prompt_progress& progress);  ///< before there is a token

/// Its `prompt_progress`.
boost::json::object progress_of(const cogen::prompt_progress& progress);

}  // namespace server::api
