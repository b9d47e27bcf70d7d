#pragma once

#include <string>
#include <string_view>

#include "cogen/text/tokenizer_spec.hpp"

namespace cogen::text {

/// The bytes that a token of the vocabulary stands for.
std::string bytes_of_token(std::string_view token_spelling, spelling how);

}  // namespace cogen::text
