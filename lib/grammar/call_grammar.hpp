#pragma once

#include "grammar/text_trigger.hpp"
#include "response/response_syntax.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <vector>

namespace cogen::grammar {

/// The texts after which a call has to follow.
std::vector<std::string> call_triggers(const response::call_syntax& syntax);

/// A grammar of calls, with arguments that are valid by the schemas of the tools, in EBNF with Token(id). `several`:
/// one or more, as a model writes them without text between them; otherwise one, or a section of them. Throws
/// grammar_error, naming the tool, for a schema that is not supported.
std::string ebnf_of_calls(const response::call_syntax& syntax, const boost::json::array& tools,
                          const text_trigger::control_tokens& spelled, bool several);

}  // namespace cogen::grammar
