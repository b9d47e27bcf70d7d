#pragma once

#include "answers/grammar/json_schema.hpp"
#include "answers/grammar/unquoted_text.hpp"

#include <boost/json/value.hpp>

#include <cstdint>

namespace cogen::grammar {

/// What a text without quotes stands for.
enum class unquoted : std::uint8_t {
  string,
  string_or_null,  ///< null, where it is "null"
};

/// Adds the rules of the strings that are valid by a schema, as a model writes them without quotes, with the end behind
/// them; the rule with the name has both. Throws grammar_error as add_json_schema() does.
schema_rule add_unquoted_strings(boost::json::value schema, unquoted values, const text_end& end, rule_list& rules,
                                 schema_mode mode);

}  // namespace cogen::grammar
