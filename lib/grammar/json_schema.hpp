#pragma once

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

}  // namespace cogen::grammar
