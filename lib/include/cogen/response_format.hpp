#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

/// What a generated text has to look like. Compiled by grammar::compiler.
struct response_format {
  enum class kind : std::uint8_t { json_object, json_schema, regex, grammar, choice };

  kind type = kind::json_object;
  std::string text = {};                  ///< of a schema, a regular expression or a grammar
  std::vector<std::string> choices = {};  ///< of a choice

  friend bool operator==(const response_format&, const response_format&) = default;
};

/// Any JSON object.
inline response_format json_object() { return {}; }

/// A JSON value that is valid by a JSON Schema (draft 2020-12), its properties in the order of the schema.
inline response_format json_schema(std::string schema) {
  return {.type = response_format::kind::json_schema, .text = std::move(schema)};
}

/// A text that an ECMAScript regular expression matches from beginning to end.
inline response_format regex(std::string pattern) {
  return {.type = response_format::kind::regex, .text = std::move(pattern)};
}

/// A text of the rule `root` of a grammar in EBNF, in the notation of llama.cpp's GBNF.
inline response_format ebnf(std::string rules) {
  return {.type = response_format::kind::grammar, .text = std::move(rules)};
}

/// One of these texts.
inline response_format choice(std::vector<std::string> texts) {
  return {.type = response_format::kind::choice, .choices = std::move(texts)};
}

}  // namespace cogen
