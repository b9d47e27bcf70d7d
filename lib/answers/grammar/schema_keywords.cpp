#include "answers/grammar/schema_keywords.hpp"

#include "answers/grammar/schema_document.hpp"

#include <algorithm>
#include <map>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

using enum keyword_kind;

const std::map<std::string_view, keyword_kind> keywords = {
    {"$ref", text},
    {"type", type},
    {"const", any},
    {"enum", values},
    {"minimum", number},
    {"maximum", number},
    {"exclusiveMinimum", number},
    {"exclusiveMaximum", number},
    {"multipleOf", number},
    {"minLength", count},
    {"maxLength", count},
    {"pattern", text},
    {"format", text},
    {"prefixItems", schemas},
    {"items", items},
    {"additionalItems", schema},
    {"unevaluatedItems", schema},
    {"minItems", count},
    {"maxItems", count},
    {"uniqueItems", flag},
    {"contains", schema},
    {"minContains", count},
    {"maxContains", count},
    {"properties", schema_map},
    {"patternProperties", schema_map},
    {"additionalProperties", schema},
    {"unevaluatedProperties", schema},
    {"propertyNames", schema},
    {"required", texts},
    {"minProperties", count},
    {"maxProperties", count},
    {"dependentRequired", text_map},
    {"dependentSchemas", schema_map},
    {"dependencies", dependencies},
    {"anyOf", schemas},
    {"allOf", schemas},
    {"oneOf", schemas},
    {"not", schema},
    {"if", schema},
    {"then", schema},
    {"else", schema},
    {"$dynamicRef", unsupported},
    {"$recursiveRef", unsupported},
};

bool all_of(const json::value& value, bool (*test)(const json::value&)) {
  if (const auto* list = value.if_array()) return std::ranges::all_of(*list, test);
  if (const auto* members = value.if_object())
    return std::ranges::all_of(*members, [&](const auto& entry) { return test(entry.value()); });
  return false;
}

bool is_text(const json::value& value) { return value.is_string(); }
bool is_text_list(const json::value& value) { return value.is_array() && all_of(value, is_text); }

bool is_type_name(const json::value& value) {
  static constexpr std::string_view names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
  return value.is_string() && std::ranges::find(names, std::string_view(value.get_string())) != std::end(names);
}

}  // namespace

keyword_kind kind_of_keyword(std::string_view name) {
  const auto known = keywords.find(name);
  return known == keywords.end() ? annotation : known->second;
}

bool is_schema(const json::value& value) { return value.is_object() || value.is_bool(); }

bool has_kind(const json::value& value, keyword_kind kind) {
  switch (kind) {
    case schema:
      return is_schema(value);
    case schemas:
      return value.is_array() && !value.get_array().empty() && all_of(value, is_schema);
    case schema_map:
      return value.is_object() && all_of(value, is_schema);
    case items:
      return is_schema(value) || (value.is_array() && all_of(value, is_schema));
    case dependencies:
      return value.is_object() &&
             all_of(value, [](const json::value& element) { return is_schema(element) || is_text_list(element); });
    case type:
      return is_type_name(value) || (value.is_array() && all_of(value, is_type_name));
    case values:
      return value.is_array();
    case texts:
      return is_text_list(value);
    case text_map:
      return value.is_object() && all_of(value, is_text_list);
    case text:
      return value.is_string();
    case count:
      return is_integer(value) && number_of(value) >= 0 && number_of(value) < 1e18;
    case number:
      return value.is_number();
    case flag:
      return value.is_bool();
    default:
      return true;
  }
}

std::string_view requirement_of(keyword_kind kind) {
  switch (kind) {
    case schema:
      return "must be a schema";
    case schemas:
      return "must be an array of schemas, and not empty";
    case schema_map:
      return "must be an object whose values are schemas";
    case items:
      return "must be a schema, or an array of schemas";
    case dependencies:
      return "must be an object whose values are schemas or arrays of strings";
    case type:
      return "must be the name of a type, or an array of such names";
    case values:
      return "must be an array";
    case texts:
      return "must be an array of strings";
    case text_map:
      return "must be an object whose values are arrays of strings";
    case text:
      return "must be a string";
    case count:
      return "must be a whole number of at least 0 and below 10^18";
    case number:
      return "must be a number";
    case flag:
      return "must be true or false";
    default:
      return "may be anything";
  }
}

std::string pointer_part(std::string_view name) {
  std::string part;
  for (const char each : name) {
    if (each == '~') {
      part += "~0";
    } else if (each == '/') {
      part += "~1";
    } else {
      part += each;
    }
  }
  return part;
}

}  // namespace cogen::grammar
