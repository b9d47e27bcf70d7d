#pragma once

#include "sampling/sample.hpp"

#include <cogen/extend/runner.hpp>

#include <span>

namespace cogen::detail {

/// A copy of the logits [rows, vocabulary]; an error if memory is short.
row_output logits_output(std::span<const float> scores, int vocabulary) noexcept;

/// The token that was sampled, or why none was.
row_output output_of(sampled chosen);

/// The same of a device's sample; an error if memory is short.
row_output output_of(sampling_status status, sampled_token chosen) noexcept;

}  // namespace cogen::detail
