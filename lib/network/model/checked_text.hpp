#pragma once

#include <cogen/load/model_config.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <span>

namespace cogen::nn {

/// Throws std::out_of_range for a token that is not among the first `vocabulary`.
void check_in_vocabulary(std::span<const token> tokens, std::int64_t vocabulary);

/// Throws std::invalid_argument for a text without tokens, std::length_error for one that is longer than the model
/// reads, and std::out_of_range as above.
void check_text(const encoder_text& text, const load::model_config& config);

}  // namespace cogen::nn
