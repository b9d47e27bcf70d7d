// What it means that a value is not valid by a schema.
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/schema_cases.hpp"
#include "answers/grammar/schema_keywords.hpp"
#include "answers/grammar/string_formats.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

json::value not_of(const json::value& schema) { return {{"not", schema}}; }

/// Values of a type for which another keyword holds instead.
json::value instead(const char* type, const char* keyword, const json::value& limit) {
  return {{"type", type}, {keyword, limit}};
}

json::value above(const json::value& count) { return static_cast<std::int64_t>(count_value(count)) + 1; }

/// No value has a negative size.
json::array below(const char* type, const char* keyword, const json::value& count) {
  if (number_of(count) < 1) return {};
  return {instead(type, keyword, static_cast<std::int64_t>(count_value(count)) - 1)};
}

json::array other_types(const json::value& schema) {
  const auto& types = *member(schema, "type");
  const auto names = [&](std::string_view name) {
    if (types.is_string()) return types.get_string() == name;
    return std::ranges::any_of(types.get_array(), [&](const auto& type) { return type.get_string() == name; });
  };
  const bool is_integer = names("integer") && !names("number");
  json::array remaining, ways;
  for (const auto* name : {"null", "boolean", "number", "string", "array", "object"})
    if (!names(name) && !(is_integer && std::string_view(name) == "number")) remaining.emplace_back(name);
  if (!remaining.empty()) ways.emplace_back(json::object{{"type", remaining}});
  if (is_integer) ways.emplace_back(json::object{{"type", "number"}, {"not", {{"type", "integer"}}}});
  return ways;
}

json::array missing(const json::value& names) {
  json::array schemas;
  for (const auto& name : names.get_array())
    schemas.emplace_back(json::object{{"type", "object"}, {"properties", {{name.get_string(), false}}}});
  return schemas;
}

json::array wrong(const json::value& properties) {
  json::array schemas;
  for (const auto& each : properties.get_object())
    schemas.emplace_back(json::object{{"type", "object"},
                                      {"required", json::array{each.key()}},
                                      {"properties", json::object{{each.key(), not_of(each.value())}}}});
  return schemas;
}

/// Where one is there, and something that it asks for is missing.
json::array dependents_missing(const json::value& dependents) {
  json::array schemas;
  for (const auto& each : dependents.get_object()) {
    const json::value present = {{"required", json::array{each.key()}}};
    if (!each.value().is_array()) {
      schemas.emplace_back(json::object{{"type", "object"}, {"allOf", json::array{present, not_of(each.value())}}});
      continue;
    }
    for (auto& part : missing(each.value()))
      schemas.emplace_back(json::object{{"allOf", json::array{present, std::move(part)}}});
  }
  return schemas;
}

json::array wrong_items(const json::array& first) {
  json::array schemas;
  json::array prefix;
  for (const auto& each : first) {
    auto items = prefix;
    items.push_back(not_of(each));
    schemas.emplace_back(
        json::object{{"type", "array"}, {"prefixItems", std::move(items)}, {"minItems", prefix.size() + 1}});
    prefix.emplace_back(true);
  }
  return schemas;
}

json::array none_of(const json::array& schemas) {
  json::array negations;
  for (const auto& each : schemas) negations.push_back(not_of(each));
  return {{{"allOf", negations}}};
}

/// None of them, or two.
json::array not_exactly_one(const json::array& schemas) {
  auto ways = none_of(schemas);
  for (std::size_t i = 0; i < schemas.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) ways.emplace_back(json::object{{"allOf", json::array{schemas[i], schemas[j]}}});
  return ways;
}

/// What holds by the condition leads to a schema that does not hold.
json::array wrong_branches(const json::value& schema) {
  json::array ways;
  const auto& condition = *member(schema, "if");
  if (const auto* then = member(schema, "then"))
    ways.emplace_back(json::object{{"allOf", json::array{condition, not_of(*then)}}});
  if (const auto* otherwise = member(schema, "else"))
    ways.emplace_back(json::object{{"allOf", json::array{not_of(condition), not_of(*otherwise)}}});
  return ways;
}

json::array some_not(const json::array& schemas) {
  json::array any;
  for (const auto& each : schemas) any.push_back(not_of(each));
  return any;
}

/// Schemas of which one holds where the keyword does not.
json::array alternatives_to(const schema_document& document, const json::value& schema, std::string_view keyword,
                            const json::value& value) {
  if (keyword == "type") return other_types(schema);
  if (keyword == "const" || keyword == "enum" || keyword == "pattern") return {not_of({{keyword, value}})};
  if (keyword == "format")
    return format_named(value.get_string()) ? json::array{not_of({{keyword, value}})} : json::array();
  if (keyword == "contains" && !member(schema, "minContains") && !member(schema, "maxContains"))
    return {instead("array", "items", not_of(value))};
  if (keyword == "items" && !value.is_array() && !member(schema, "prefixItems"))
    return {instead("array", "contains", not_of(value))};
  if (keyword == "minimum") return {instead("number", "exclusiveMaximum", value)};
  if (keyword == "maximum") return {instead("number", "exclusiveMinimum", value)};
  if (keyword == "exclusiveMinimum") return {instead("number", "maximum", value)};
  if (keyword == "exclusiveMaximum") return {instead("number", "minimum", value)};
  if (keyword == "minLength") return below("string", "maxLength", value);
  if (keyword == "maxLength") return {instead("string", "minLength", above(value))};
  if (keyword == "minItems") return below("array", "maxItems", value);
  if (keyword == "maxItems") return {instead("array", "minItems", above(value))};
  if (keyword == "minProperties") return below("object", "maxProperties", value);
  if (keyword == "maxProperties") return {instead("object", "minProperties", above(value))};
  if (keyword == "required") return missing(value);
  if (keyword == "properties") return wrong(value);
  if (keyword == "prefixItems" || (keyword == "items" && value.is_array())) return wrong_items(value.get_array());
  if (keyword == "dependentRequired" || keyword == "dependentSchemas" || keyword == "dependencies")
    return dependents_missing(value);
  if (keyword == "oneOf") return not_exactly_one(value.get_array());
  if (keyword == "if") return wrong_branches(schema);
  if (keyword == "then" || keyword == "else" || (keyword == "uniqueItems" && !value.get_bool())) return {};
  if ((keyword == "additionalProperties" || keyword == "unevaluatedProperties" || keyword == "additionalItems") &&
      value == true)
    return {};
  if (keyword == "not") return {value};
  if (keyword == "allOf") return some_not(value.get_array());
  if (keyword == "anyOf") return none_of(value.get_array());
  if (keyword == "$ref") return {not_of(document.resolve(schema))};
  document.refuse(schema, keyword, "\"not\" of \"" + std::string(keyword) + "\" is not supported");
}

}  // namespace

/// A keyword of which nothing else says that it does not hold leaves the others to say so.
const json::value& schema_cases::negation_of(const json::value& schema) {
  document_.check(schema);
  bool is_partial = false;
  const auto& negation = derive(purpose::negation, schema, [&]() -> json::value {
    budget_.spend();
    if (schema.is_bool()) return !schema.get_bool();
    json::array any;
    std::optional<keyword_error> refused;
    for (const auto& each : schema.get_object()) {
      if (kind_of_keyword(each.key()) == keyword_kind::annotation) continue;
      try {
        for (auto& other : alternatives_to(document_, schema, each.key(), each.value()))
          any.push_back(std::move(other));
      } catch (const keyword_error& error) {
        if (!refused) refused = error;
      }
    }
    if (refused && any.empty()) throw keyword_error(*refused);
    is_partial = refused.has_value();
    if (any.empty()) return false;
    return {{"anyOf", std::move(any)}};
  });
  if (is_partial) partial_negations_.insert(&negation);
  if (partial_negations_.contains(&negation)) ++partial_uses_;
  return negation;
}

}  // namespace cogen::grammar
