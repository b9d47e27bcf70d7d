#pragma once

#include "answers/grammar/ebnf.hpp"

#include <cogen/response_format.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// How far a schema may expand.
struct schema_limits {
  std::size_t schemas = 20'000;
  std::size_t bytes = 4 << 20;  ///< of the grammar
};

/// What happens to a keyword that no grammar of ours keeps.
enum class schema_mode : std::uint8_t {
  strict,   ///< it is refused
  loosened  ///< it is left out, so that texts may be written that are not valid by it
};

/// Whether an object has other properties where its schema lists some and does not speak of others.
enum class unnamed_properties : std::uint8_t {
  behind,  ///< behind the listed ones
  none
};

struct schema_grammar {
  std::string ebnf;
  std::vector<loosened_keyword> loosened = {};
  std::vector<distinct_rule> distinct = {};  ///< what its brackets are captured for
};

struct schema_rule {
  std::string name;
  std::vector<loosened_keyword> loosened = {};
};

/// A grammar of JSON values that are valid by a schema of draft 2020-12, or of an earlier one. All its texts are valid,
/// but for what is loosened, and it leaves out some valid ones: required properties come in the order of the schema;
/// others than listed ones come behind them, unless the schema speaks of them or lists none. Throws json::json_error
/// for a text that is not JSON, and grammar_error for a schema that allows nothing, and, unless it is loosened, for
/// what is not supported, naming the keyword.
schema_grammar ebnf_of_json_schema(std::string_view schema, const schema_limits& limits = {},
                                   schema_mode mode = schema_mode::strict);

/// Adds the rules of a schema to others, among which have to be those of add_json_rules(); the rule with its name is
/// that of its values. Throws as above.
schema_rule add_json_schema(std::string_view schema, rule_list& rules, const schema_limits& limits = {},
                            schema_mode mode = schema_mode::strict,
                            unnamed_properties unnamed = unnamed_properties::behind);

/// Adds the rules that all schemas share, such as `string`, and `ws`, an expression for the white space anywhere;
/// empty: a space, or line breaks with an indentation.
void add_json_rules(rule_list& rules, std::string_view space = {});

}  // namespace cogen::grammar
