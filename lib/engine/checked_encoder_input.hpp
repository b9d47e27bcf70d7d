#pragma once

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <vector>

namespace cogen::detail {

/// The tokens for the model's encoder; null if the model has none and `tokens` is empty. `vocabulary`: number of tokens
/// that the model knows. Throws std::invalid_argument, with a message for the client, if the input does not suit the
/// model.
scheduler::encoder_tokens checked_encoder_input(std::vector<token> tokens, const engine_parts& parts, int vocabulary);

}  // namespace cogen::detail
