#pragma once

#include "answers/response/response_syntax.hpp"

#include <string_view>

namespace cogen::response {

/// How a model writes its responses, by what its chat template holds: texts that are in no other family's template.
/// Where the template says nothing about calls, they are in the form of Hermes, which most models know.
response_syntax syntax_of_template(std::string_view chat_template);

}  // namespace cogen::response
