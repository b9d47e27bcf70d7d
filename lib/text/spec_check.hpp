#pragma once

#include "text/tokenizer_spec.hpp"

#include <cstddef>

namespace cogen::text {

/// No model is near it; ids above would only cost memory.
inline constexpr std::size_t max_vocabulary = std::size_t{1} << 24;

/// The longest spelling of a token, in bytes. Twice that of any known model.
inline constexpr std::size_t longest_token = 2048;

/// Of normalizers, of pre-tokenizers and of decoders.
inline constexpr std::size_t most_steps = 64;

/// Of tokens that stand before, behind and between texts.
inline constexpr std::size_t most_surrounding_tokens = 256;

/// The number of ids, those of added tokens included. Throws std::invalid_argument for an added token outside the
/// limit.
std::size_t id_count(const tokenizer_spec& spec);

/// Throws std::invalid_argument naming the first id that lies outside the vocabulary, or the size that is too large.
void require_consistent(const tokenizer_spec& spec);

}  // namespace cogen::text
