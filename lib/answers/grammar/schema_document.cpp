#include "answers/grammar/schema_document.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/regex_syntax.hpp"
#include "answers/grammar/schema_keywords.hpp"
#include "answers/grammar/schema_references.hpp"
#include "answers/grammar/steps.hpp"
#include "formats/json/parse.hpp"
#include "formats/json/printable.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

/// The JSON pointer from one value to another inside it, which may be no deeper than json::max_depth.
std::optional<std::string> path_to(const json::value& root, const json::value& wanted) {
  count_step();
  if (&root == &wanted) return "";
  if (const auto* members = root.if_object())
    for (const auto& each : *members)
      if (const auto found = path_to(each.value(), wanted)) return "/" + pointer_part(each.key()) + *found;
  if (const auto* list = root.if_array())
    for (std::size_t i = 0; i < list->size(); ++i)
      if (const auto found = path_to((*list)[i], wanted)) return "/" + std::to_string(i) + *found;
  return std::nullopt;
}

/// Draft 4 says by a flag beside a limit that the limit itself is excluded.
void turn_flags_into_limits(json::value& schema) {
  if (auto* members = schema.if_object())
    for (const auto& [flag, limit] : {std::pair("exclusiveMinimum", "minimum"), {"exclusiveMaximum", "maximum"}}) {
      const auto* value = members->if_contains(flag);
      if (!value || !value->is_bool()) continue;
      const bool excludes = value->get_bool();
      members->erase(flag);
      const auto* bound = members->if_contains(limit);
      if (!excludes || !bound) continue;
      const auto excluded = *bound;
      members->erase(limit);
      (*members)[flag] = excluded;
    }
  for_each_subschema(
      schema, [](json::value& subschema, const std::string&, std::string_view) { turn_flags_into_limits(subschema); });
}

}  // namespace

json::value parse_schema(std::string_view text) {
  auto root = cogen::json::parse_with_unique_keys(text, "the JSON schema");
  if (!is_schema(root)) throw grammar_error("the JSON schema must be an object or a boolean");
  return root;
}

schema_document::schema_document(json::value root) : root_(std::move(root)) {
  turn_flags_into_limits(root_);
  resolve_references(root_);
}

const json::value& schema_document::resolve(const json::value& schema) const {
  const auto full = std::string_view(member(schema, "$ref")->get_string());
  const auto refuse_it = [&](const std::string& why) {
    refuse(schema, "$ref", "$ref " + cogen::json::in_quotes(full) + " " + why);
  };
  if (!full.starts_with('#')) refuse_it("is outside the schema, which is not supported");
  const auto fragment = full.substr(1);
  if (!fragment.empty() && !fragment.starts_with('/')) refuse_it("names no $anchor of the schema");
  json::error_code error;
  const auto* found = root_.find_pointer(fragment, error);
  if (!found || !is_schema(*found)) refuse_it("points to no schema");
  return *found;
}

const json::value& schema_document::keep(json::value schema, const json::value& origin, origin_path path) const {
  return derived_.emplace_back(derived{std::move(schema), &origin, path}).schema;
}

void schema_document::check(const json::value& schema) const {
  if (schema.is_bool()) return;
  constexpr std::size_t of_keyword = 32;
  count_comparisons(of_keyword * schema.get_object().size());
  for (const auto& each : schema.get_object()) {
    const std::string key(each.key());
    const auto kind = kind_of_keyword(key);
    if (kind == keyword_kind::unsupported) refuse(schema, key, "the keyword \"" + key + "\" is not supported");
    if (!has_kind(each.value(), kind))
      refuse(schema, key, "the value of \"" + key + "\" " + std::string(requirement_of(kind)));
    if (key == "multipleOf" && number_of(each.value()) <= 0) refuse(schema, key, "multipleOf must be above 0");
  }
}

void schema_document::count_comparisons(std::size_t more) const {
  constexpr auto max = std::size_t{1} << 28;
  comparisons_ += more;
  count_steps(more);
  if (comparisons_ > max)
    throw schema_size_error("JSON schema: its values and keywords take more than " + std::to_string(max) +
                            " comparisons");
}

std::string schema_document::place_of(const json::value& schema) const {
  std::string below;
  for (const auto* current = &schema; current;) {
    if (const auto path = path_to(root_, *current)) return "#" + *path + below;
    const auto* inside = std::exchange(current, nullptr);
    for (const auto& each : derived_)
      if (const auto path = path_to(each.schema, *inside)) {
        if (each.path == origin_path::same) below = *path + below;
        if (each.path == origin_path::below_not && path->starts_with("/not")) below = path->substr(4) + below;
        current = each.origin;
        break;
      }
  }
  return "#" + below;
}

/// What refuses a part may itself speak of a JSON schema.
void schema_document::refuse(const json::value& schema, std::string_view keyword, std::string_view reason) const {
  constexpr std::string_view subject = "JSON schema: ";
  if (reason.starts_with(subject)) reason.remove_prefix(subject.size());
  const auto place = place_of(schema);
  throw keyword_error("JSON schema at " + cogen::json::printable(place) + ": " + std::string(reason),
                      {std::string(keyword), place});
}

exact_number number_of(const json::value& value) { return exact_number::from_json(value); }

bool is_integer(const json::value& value) {
  if (const auto* number = value.if_double()) return std::floor(*number) == *number;
  return value.is_number();
}

std::uint64_t count_value(const json::value& value) { return value.to_number<std::uint64_t>(); }

bool are_equal(const json::value& left, const json::value& right) {
  if (left.is_number() && right.is_number()) return number_of(left) == number_of(right);
  if (left.is_array() && right.is_array()) return std::ranges::equal(left.get_array(), right.get_array(), are_equal);
  if (left.is_object() && right.is_object())
    return left.get_object().size() == right.get_object().size() &&
           std::ranges::all_of(left.get_object(), [&](const auto& entry) {
             const auto* other = right.get_object().if_contains(entry.key());
             return other && are_equal(entry.value(), *other);
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

regex_node parse_pattern(const schema_document& document, const json::value& schema, std::string_view keyword,
                         std::string_view pattern) {
  try {
    return parse_regex(pattern, regex_match::search);
  } catch (const grammar_error& error) {
    document.refuse(schema, keyword, error.what());
  }
}

std::vector<const json::value*> property_schemas(const schema_document& document, const json::value& schema,
                                                 std::string_view key) {
  std::vector<const json::value*> found;
  if (const auto* named = member(schema, "properties"))
    if (const auto* property = member(*named, key)) found.push_back(property);
  if (const auto* patterns = member(schema, "patternProperties"))
    for (const auto& each : patterns->get_object())
      if (matches(parse_pattern(document, schema, "patternProperties", each.key()), key))
        found.push_back(&each.value());
  if (found.empty())
    if (const auto* rest = member(schema, "additionalProperties")) found.push_back(rest);
  return found;
}

std::size_t character_count(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace cogen::grammar
