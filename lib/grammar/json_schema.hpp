#pragma once

#include <string>
#include <string_view>

namespace cogen::grammar {

/// How far a schema may expand.
struct schema_limits {
  std::size_t schemas = 20'000;
  std::size_t bytes = 4 << 20;  ///< of the grammar
};

/// A grammar of the JSON values that are valid by a schema of draft 2020-12, or of an earlier one. Listed properties come
/// in the order of the schema, others after them. Not all valid values are texts of it, but all its texts are valid.
/// Throws json::json_error for a text that is no JSON, and grammar_error, naming the keyword, for what is not supported.
std::string ebnf_of_json_schema(std::string_view schema, const schema_limits& limits = {});

}  // namespace cogen::grammar
