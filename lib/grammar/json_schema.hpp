#pragma once

#include "grammar/ebnf.hpp"

#include <string>
#include <string_view>

namespace cogen::grammar {

/// How far a schema may expand.
struct schema_limits {
  std::size_t schemas = 20'000;
  std::size_t bytes = 4 << 20;  ///< of the grammar
};

/// A grammar of JSON values that are valid by a schema of draft 2020-12, or of an earlier one. All its texts are valid,
/// but it leaves out some valid ones: listed properties come in the order of the schema; others, after them, only where
/// the schema speaks of them by additionalProperties or unevaluatedProperties, or lists none. Throws json::json_error
/// for a text that is no JSON, and grammar_error, naming the keyword, for what is not supported.
std::string ebnf_of_json_schema(std::string_view schema, const schema_limits& limits = {});

/// Adds the rules of a schema to others, among which have to be those of add_json_rules(), and returns the name of the
/// rule of its values. Throws as above.
std::string add_json_schema(std::string_view schema, rule_list& rules, const schema_limits& limits = {});

/// Adds the rules that all schemas share, such as `string`, and `ws`, an expression for the white space anywhere.
void add_json_rules(rule_list& rules, std::string_view space = R"([ \t\n\r]*)");

}  // namespace cogen::grammar
