#pragma once

#include "answers/grammar/json_schema.hpp"
#include "answers/grammar/text_trigger.hpp"
#include "answers/response/response_syntax.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <vector>

namespace cogen::grammar {

/// The texts after which a call has to follow.
std::vector<std::string> call_triggers(const response::call_syntax& syntax);

/// What calls there may be.
struct call_rules {
  bool several = false;        ///< in one array or section, and without text between them; otherwise one
  bool required = false;       ///< they are all of a text; otherwise text may follow the first, or its array or section
  bool any_arguments = false;  ///< of the tools that are not strict, whatever their schemas say
};

/// A grammar of calls, with arguments that are valid by the schemas of the tools, in EBNF with Token(id), and what of
/// the schemas it does not keep: paths begin with the name of the tool. Throws grammar_error, naming the tool, for a
/// schema that is malformed, and for one that cannot be kept by a tool that is `strict`.
schema_grammar grammar_of_calls(const response::call_syntax& syntax, const boost::json::array& tools,
                                const text_trigger::control_tokens& spelled, call_rules wanted);

}  // namespace cogen::grammar
