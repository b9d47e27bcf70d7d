#pragma once

#include "api/field_reader.hpp"
#include "api/generation.hpp"

#include <cogen/load/model_config.hpp>
#include <cogen/text/tokenizer.hpp>

#include <cstdint>
#include <optional>

namespace server::api {

/// How a route reads what a request does not say.
struct route_defaults {
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  std::optional<int> max_tokens = {};
  int min_max_tokens = 1;  ///< that a request may ask for

  /// With what a model's authors want instead.
  route_defaults with(const cogen::load::generation_defaults& model) const;
};

/// Reads the fields that all routes of generation have, in OpenAI's names, and those of vLLM and llama.cpp for what
/// OpenAI lacks: how tokens are chosen, where the text ends, whose request it is. `tokens` may be null.
void read_generation(const field_reader& body, const sender& client, const route_defaults& otherwise,
                     const cogen::text::tokenizer* tokens, generation& wanted);

}  // namespace server::api
