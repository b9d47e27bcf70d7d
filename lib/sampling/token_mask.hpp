#pragma once

#include <cogen/detail/sampling_batch.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace cogen {

/// Sets the logits of all other tokens to minus infinity. The mask is empty, or has a bit for each logit.
void apply_mask(token_mask mask, std::span<float> logits);

/// The only token that may be sampled, if there is only one.
std::optional<token> only_token(token_mask mask);

}  // namespace cogen
