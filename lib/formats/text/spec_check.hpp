#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <algorithm>
#include <cstddef>

namespace cogen::text {

/// No model is near it; ids above would only cost memory.
inline constexpr std::size_t max_vocabulary = std::size_t{1} << 24;

/// The longest spelling of a token, in bytes. Twice that of any known model.
inline constexpr std::size_t max_token_bytes = 2048;

/// Of all tokens together: tables of them take up to a hundred bytes for each.
inline constexpr std::size_t max_spelled_bytes = std::size_t{1} << 24;

/// Of normalizers, of pre-tokenizers and of decoders.
inline constexpr std::size_t max_steps = 64;

/// Of tokens that stand before, behind and between texts.
inline constexpr std::size_t max_surrounding_tokens = 256;
inline constexpr const char *before_a_text = "tokens before the text", *behind_a_text = "tokens after the text",
                            *between_texts = "tokens between two texts";

/// Throws std::invalid_argument that names the limit if there are more of them.
void require_count(std::size_t limit, std::size_t count, const char* name);

/// One above the highest id that some of so many tokens may have: ids may be left out, but what is kept for each id
/// shall not come from nothing.
constexpr std::size_t end_of_ids(std::size_t tokens) noexcept {
  constexpr std::size_t left_out = std::size_t{1} << 16;
  return std::min(max_vocabulary, 4 * std::min(tokens, max_vocabulary) + left_out);
}

/// The bytes of all spellings, those of added tokens included.
std::size_t spelled_bytes(const tokenizer_spec& spec) noexcept;

/// The number of ids, those of added tokens included. Throws std::invalid_argument for an added token outside the
/// limit.
std::size_t id_count(const tokenizer_spec& spec);

/// Throws std::invalid_argument naming the first id that lies outside the vocabulary, or the size that is too large.
void require_consistent(const tokenizer_spec& spec);

}  // namespace cogen::text
