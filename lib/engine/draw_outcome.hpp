#pragma once

#include "sampling/sampler.hpp"

#include <cogen/runner.hpp>

namespace cogen::detail {

/// What a sampler's draw means for the row it was made for.
row_outcome draw_outcome(const sampler& from, std::span<float> scores, token_history& history, draw_key key) noexcept;

/// drawer::describe() for the token that `key` names. With `unknown_last` the history lacks the one before it.
bool describe_draw(const sampler& from, token_history& history, bool unknown_last, const draw_key& key,
                   device_draw& row, draw_lists& lists);

}  // namespace cogen::detail
