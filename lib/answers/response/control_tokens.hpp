#pragma once

#include "answers/response/response_syntax.hpp"

#include <cogen/text/tokenizer.hpp>

#include <map>
#include <string>

namespace cogen::response {

/// The control tokens that are a part of some delimiter, by their spelling. Of the others a response has no text.
std::map<std::string, token, std::less<>> control_tokens_of(const response_syntax& syntax,
                                                            const text::tokenizer& tokens);

}  // namespace cogen::response
