#pragma once

#include "sampling/sampler.hpp"

#include <cogen/extend/runner.hpp>

namespace cogen::detail {

/// What a sampler's sample means for the row it was made for.
row_output sampling_output(const sampler& from, std::span<float> scores, token_history& history,
                           sampling_key key) noexcept;

/// row_sampler::describe() for the token that `key` names. With `unknown_last` the history lacks the one before it.
bool describe_sampling_row(const sampler& from, token_history& history, bool unknown_last, const sampling_key& key,
                           sampling_row& row, sampling_lists& lists);

}  // namespace cogen::detail
