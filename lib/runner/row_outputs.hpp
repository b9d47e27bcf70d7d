#pragma once

#include <cogen/extend/runner.hpp>

#include <cstddef>
#include <span>

namespace cogen::detail {

/// A copy of the logits [rows, vocabulary]; an error if memory is short.
row_output logits_output(std::span<const float> scores, int vocabulary) noexcept;

/// Samples a row on this thread from `scores` [1 + drafts, vocabulary], and sets its outputs: the first one, and one
/// more after each draft token that was sampled before it. The first that was not is the end.
void sample_row(step& step, std::size_t row, std::span<float> scores) noexcept;

}  // namespace cogen::detail
