#pragma once

#include "text/tokenizer_spec.hpp"

#include <string>
#include <string_view>

namespace cogen::text {

/// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view lower_block = "\xE2\x96\x81";

/// The bytes that a token of the vocabulary stands for.
std::string bytes_of_token(std::string_view token_spelling, spelling how);

}  // namespace cogen::text
