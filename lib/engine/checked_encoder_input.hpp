#pragma once

#include <cogen/engine.hpp>
#include <cogen/extend/engine_parts.hpp>

#include <vector>

namespace cogen::detail {

/// What an encoder shall read, and null where the model has none. `vocabulary`: the tokens the model knows. Throws
/// std::invalid_argument, with a sentence for its sender, where this is not for this model.
scheduler::encoder_tokens checked_encoder_input(std::vector<token> tokens, const engine_parts& parts, int vocabulary);

}  // namespace cogen::detail
