#pragma once

#include "cogen/token.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace cogen {

/// The tokens that may be sampled: bit `id % 64` of word `id / 64`. Empty: all of them.
using token_mask = std::span<const std::uint64_t>;

/// Sets the logits of all other tokens to minus infinity. The mask is empty, or has a bit for each logit.
void apply_mask(token_mask mask, std::span<float> logits);

/// The only token that may be sampled, if there is only one.
std::optional<token> only_token(token_mask mask);

}  // namespace cogen
