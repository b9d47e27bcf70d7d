#include "grammar/schema_document.hpp"

#include "grammar/grammar_error.hpp"
#include "grammar/regex_syntax.hpp"
#include "json/parse.hpp"
#include "json/printable.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

enum class keyword_kind : std::uint8_t {
  annotation,
  schema,
  schemas,       // an array of them
  schema_map,    // an object of them
  items,         // a schema, or, before 2020-12, an array of them
  dependencies,  // an object of schemas or arrays of texts
  type,
  any,
  texts,
  text_map,  // an object of arrays of texts
  text,
  count,
  number,
  flag,
  unsupported
};

using enum keyword_kind;

const std::map<std::string, keyword_kind, std::less<>> keywords = {
    {"$schema", annotation},
    {"$id", annotation},
    {"$anchor", annotation},
    {"$comment", annotation},
    {"$vocabulary", annotation},
    {"title", annotation},
    {"description", annotation},
    {"default", annotation},
    {"deprecated", annotation},
    {"readOnly", annotation},
    {"writeOnly", annotation},
    {"examples", annotation},
    {"contentEncoding", annotation},
    {"contentMediaType", annotation},
    {"contentSchema", annotation},
    {"$defs", annotation},
    {"definitions", annotation},
    {"$ref", text},
    {"type", type},
    {"const", any},
    {"enum", any},
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
    {"$dynamicAnchor", annotation},
    {"$recursiveRef", unsupported},
    {"$recursiveAnchor", unsupported},
};

bool is_schema(const json::value& value) { return value.is_object() || value.is_bool(); }

bool all_of(const json::value& value, bool (*test)(const json::value&)) {
  if (const auto* list = value.if_array()) return std::ranges::all_of(*list, test);
  if (const auto* members = value.if_object())
    return std::ranges::all_of(*members, [&](const auto& each) { return test(each.value()); });
  return false;
}

bool is_text(const json::value& value) { return value.is_string(); }
bool is_text_list(const json::value& value) { return value.is_array() && all_of(value, is_text); }

bool is_type_name(const json::value& value) {
  static constexpr std::string_view names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
  return value.is_string() && std::ranges::find(names, std::string_view(value.get_string())) != std::end(names);
}

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
             all_of(value, [](const json::value& each) { return is_schema(each) || is_text_list(each); });
    case type:
      return is_type_name(value) || (value.is_array() && all_of(value, is_type_name));
    case texts:
      return is_text_list(value);
    case text_map:
      return value.is_object() && all_of(value, is_text_list);
    case text:
      return value.is_string();
    case count:
      return is_integer(value) && number_of(value) >= 0 && number_of(value) < 1e18L;
    case number:
      return value.is_number();
    case flag:
      return value.is_bool();
    default:
      return true;
  }
}

std::optional<std::string> path_to(const json::value& from, const json::value& wanted, const std::string& path) {
  if (&from == &wanted) return path;
  if (const auto* members = from.if_object())
    for (const auto& each : *members)
      if (auto found = path_to(each.value(), wanted, path + "/" + std::string(each.key()))) return found;
  if (const auto* list = from.if_array())
    for (std::size_t i = 0; i < list->size(); ++i)
      if (auto found = path_to((*list)[i], wanted, path + "/" + std::to_string(i))) return found;
  return std::nullopt;
}

/// The schema below `from` with such an anchor. Those inside a schema of another `$id` are not this document's.
const json::value* anchored(const json::value& from, std::string_view anchor, bool is_root = true) {
  if (const auto* members = from.if_object()) {
    if (!is_root && members->contains("$id")) return nullptr;
    for (const auto* key : {"$anchor", "$dynamicAnchor"})
      if (const auto* named = members->if_contains(key); named && named->is_string() && named->get_string() == anchor)
        return &from;
    for (const auto& each : *members)
      if (each.key() != "enum" && each.key() != "const")
        if (const auto* found = anchored(each.value(), anchor, false)) return found;
  }
  if (const auto* list = from.if_array())
    for (const auto& each : *list)
      if (const auto* found = anchored(each, anchor, false)) return found;
  return nullptr;
}

int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const auto lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string without_percents(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && hexadecimal(text[i + 1]) >= 0 && hexadecimal(text[i + 2]) >= 0;
    plain += is_escape ? static_cast<char>(hexadecimal(text[i + 1]) * 16 + hexadecimal(text[i + 2])) : text[i];
    if (is_escape) i += 2;
  }
  return plain;
}

}  // namespace

schema_document::schema_document(std::string_view text)
    : root_(cogen::json::parse_with_unique_keys(text, "the JSON schema")) {
  if (!is_schema(root_)) throw grammar_error("the JSON schema must be an object or a boolean");
}

const json::value& schema_document::resolve(const json::value& reference) const {
  const auto full = std::string_view(reference.get_string());
  auto named = full;
  if (const auto* id = member(root_, "$id"); id && id->is_string() && !id->get_string().empty()) {
    const auto base = std::string_view(id->get_string()).substr(0, id->get_string().find('#'));
    if (named.starts_with(base)) named.remove_prefix(base.size());
  }
  const auto refuse_it = [&](const std::string& why) {
    refuse(root_, "$ref " + cogen::json::in_quotes(full) + " " + why);
  };
  if (!named.empty() && !named.starts_with('#')) refuse_it("is outside the schema, which is not supported");
  const auto fragment = without_percents(named.substr(named.empty() ? 0 : 1));
  if (fragment.empty()) return root_;
  if (!fragment.starts_with('/')) {
    if (const auto* found = anchored(root_, fragment)) return *found;
    refuse_it("names no $anchor of the schema");
  }
  json::error_code error;
  const auto* found = root_.find_pointer(fragment, error);
  if (!found || !is_schema(*found)) refuse_it("points to no schema");
  for (std::size_t end = fragment.find('/', 1); end != std::string::npos; end = fragment.find('/', end + 1))
    if (const auto* outer = root_.find_pointer(fragment.substr(0, end), error); outer && member(*outer, "$id"))
      refuse_it("points into a schema with an $id of its own, which is not supported");
  return *found;
}

void schema_document::check(const json::value& schema) const {
  if (schema.is_bool()) return;
  if (!schema.is_object()) refuse(schema, "must be an object or a boolean");
  for (const auto& each : schema.get_object()) {
    const std::string key(each.key());
    const auto known = keywords.find(key);
    if (known == keywords.end()) refuse(schema, "the keyword " + cogen::json::in_quotes(key) + " is unknown");
    if (known->second == unsupported) refuse(schema, "the keyword \"" + key + "\" is not supported");
    if (key == "$id" && &schema != &root_) refuse(schema, "the keyword \"$id\" is not supported inside a schema");
    if (!has_kind(each.value(), known->second)) refuse(schema, "the value of \"" + key + "\" is malformed");
    if (key == "enum" && !each.value().is_array()) refuse(schema, "the value of \"enum\" is malformed");
    if (key == "multipleOf" && number_of(each.value()) <= 0) refuse(schema, "multipleOf must be above 0");
  }
}

void schema_document::refuse(const json::value& schema, std::string_view what) const {
  const auto path = path_to(root_, schema, "#");
  throw grammar_error("JSON schema" + (path ? " at " + cogen::json::printable(*path) : std::string()) + ": " +
                      std::string(what));
}

long double number_of(const json::value& value) {
  if (value.is_int64()) return static_cast<long double>(value.get_int64());
  if (value.is_uint64()) return static_cast<long double>(value.get_uint64());
  return value.get_double();
}

bool is_integer(const json::value& value) {
  return value.is_number() && std::floor(number_of(value)) == number_of(value);
}

bool are_equal(const json::value& left, const json::value& right) {
  if (left.is_number() && right.is_number()) return number_of(left) == number_of(right);
  if (left.is_array() && right.is_array()) return std::ranges::equal(left.get_array(), right.get_array(), are_equal);
  if (left.is_object() && right.is_object())
    return left.get_object().size() == right.get_object().size() &&
           std::ranges::all_of(left.get_object(), [&](const auto& each) {
             const auto* other = right.get_object().if_contains(each.key());
             return other && are_equal(each.value(), *other);
           });
  return left == right;
}

const json::value* item_schema(const json::value& schema, std::size_t index) {
  const auto* first = member(schema, "prefixItems");
  const auto* rest = member(schema, "items");
  if (rest && rest->is_array()) {
    first = rest;
    rest = member(schema, "additionalItems");
  }
  if (first && index < first->get_array().size()) return &first->get_array()[index];
  return rest;
}

std::vector<const json::value*> property_schemas(const json::value& schema, std::string_view key) {
  std::vector<const json::value*> found;
  if (const auto* named = member(schema, "properties"))
    if (const auto* one = member(*named, key)) found.push_back(one);
  if (const auto* patterns = member(schema, "patternProperties"))
    for (const auto& each : patterns->get_object())
      if (matches(parse_regex(each.key(), regex_match::search), key)) found.push_back(&each.value());
  if (found.empty())
    if (const auto* rest = member(schema, "additionalProperties")) found.push_back(rest);
  return found;
}

std::size_t character_count(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace cogen::grammar
