#pragma once

#include <cogen/engine_options.hpp>

#include <cstdint>

namespace cogen::detail {

/// Logits are computed after each draft token of a step, and kept until the step has sampled.
inline constexpr int step_draft_tokens = 64;

/// The default maximum length with a cache whose size does not grow with the sequence.
inline constexpr int length_of_endless = 1 << 30;

// All throw std::invalid_argument with the option, its value and its limit.

/// Checks what is invalid for any model on any backend.
void check(const engine_options& options);

/// Checks what engines on the CPU do not support.
void check_on_cpu(const engine_options& options);

/// Tokens of an encoder input, of a model that reads `positions`. Throws std::invalid_argument.
int encoder_limit(const engine_options& options, std::int64_t positions);

/// The most tokens of a sequence: as the options say, or what is the default for a model of that many positions, which
/// do not count where the cache forgets old tokens and the model can go on (`endless`).
int length_limit(const engine_options& options, std::int64_t positions, bool endless);

}  // namespace cogen::detail
