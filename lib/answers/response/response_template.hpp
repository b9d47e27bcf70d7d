#pragma once

#include "answers/response/response_syntax.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/json/value.hpp>

namespace cogen::response {

/// What a `response_template` of a tokenizer_config.json describes. Supported are version 1, with the fields `content`,
/// `reasoning_content` or `thinking`, and `tool_calls`. Throws std::invalid_argument, naming the member, for what is
/// malformed or not supported. Source: Transformers 5, utils/chat_parsing.
response_syntax syntax_of_response_template(const boost::json::value& response_template);

/// How the tokenizer's model writes its responses: by its response_template, or else by its chat template, which in
/// both cases says what ids of calls it insists on. Throws std::invalid_argument as above.
response_syntax syntax_of(const text::tokenizer& tokens);

}  // namespace cogen::response
