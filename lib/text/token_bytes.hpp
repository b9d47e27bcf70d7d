#pragma once

#include "cogen/text/tokenizer_spec.hpp"

#include <string>
#include <string_view>

namespace cogen::text {

/// The bytes that a token of the vocabulary stands for.
std::string bytes_of_token(std::string_view token_spelling, spelling how);

}  // namespace cogen::text
