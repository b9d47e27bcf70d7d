#pragma once

#include "formats/json/field.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <vector>

namespace cogen::text {

// Each reads one section of a tokenizer.json. Throws std::invalid_argument naming what is malformed or unknown.

token token_id(const json::field& field);
std::vector<normalizer_step> normalizer_steps(const json::field& section);
std::vector<pre_tokenizer_step> pre_tokenizer_steps(const json::field& section);

struct decoding_steps {
  std::vector<decoder_step> steps;
  bool strip_first_space = false;
};
decoding_steps decoding_of(const json::field& section);

struct surrounding_tokens {
  std::vector<token> prefix;
  std::vector<token> suffix;
  std::vector<token> between_pair;
};
surrounding_tokens surrounding_of(const json::field& section);

}  // namespace cogen::text
