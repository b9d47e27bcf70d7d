#pragma once

#include "api/answer.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace server::api {

/// The log-probabilities of /v1/completions: four arrays with an element for each token. Offsets continue from one call
/// to the next. The first token of an echoed prompt has none.
class text_logprobs {
 public:
  explicit text_logprobs(const cogen::text::tokenizer& vocabulary) : vocabulary_(&vocabulary) {}

  /// `first_is_prompt`: nothing comes before the first of these.
  boost::json::object describe(std::span<const cogen::sampled_token> tokens, bool first_is_prompt);

 private:
  std::string spelling(cogen::token id) const;

  const cogen::text::tokenizer* vocabulary_;
  std::size_t offset_ = 0;
};

/// The mean log-probability of a completion's tokens, by which `best_of` ranks them.
double mean_logprob(const cogen::completion& answer);

}  // namespace server::api
