#pragma once

#include "api/field_reader.hpp"
#include "api/generation.hpp"

#include <cogen/text/tokenizer.hpp>

namespace server::api {

/// How a token is chosen where a request does not say.
struct sampling_defaults {
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
};

/// Reads the fields that all routes of generation have, in OpenAI's names, and those of vLLM and llama.cpp for what
/// OpenAI lacks: how tokens are chosen, where the text ends, whose request it is. `tokens` may be null.
void read_generation(const field_reader& body, const sender& from, const sampling_defaults& otherwise,
                     const cogen::text::tokenizer* tokens, generation& into);

}  // namespace server::api
