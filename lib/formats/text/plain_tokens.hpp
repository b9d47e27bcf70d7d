#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <vector>

namespace cogen::text {

/// By id of the vocabulary: whether a token may stand for a part of a text that is spelled like it. Control tokens and
/// the unknown token do not, nor the tokens of single bytes unless tokenizer_spec::finds_byte_tokens is set.
std::vector<bool> plain_tokens(const tokenizer_spec& spec);

}  // namespace cogen::text
