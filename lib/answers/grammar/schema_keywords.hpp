#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cogen::grammar {

/// What the value of a keyword has to be.
enum class keyword_kind : std::uint8_t {
  annotation,  // asks nothing of a value
  schema,
  schemas,       // an array of them
  schema_map,    // an object of them
  items,         // a schema, or, before 2020-12, an array of them
  dependencies,  // an object of schemas or arrays of texts
  type,
  any,
  values,  // an array of anything
  texts,
  text_map,  // an object of arrays of texts
  text,
  count,
  number,
  flag,
  unsupported
};

/// Of one that no draft knows: an annotation, too.
keyword_kind kind_of_keyword(std::string_view name);

bool has_kind(const boost::json::value& value, keyword_kind kind);

/// What to say of a value that has another kind: "must be a schema".
std::string_view requirement_of(keyword_kind kind);

/// Whether a value can be a schema.
bool is_schema(const boost::json::value& value);

/// Calls `visit(schema, pointer, keyword)` for each schema that a keyword of this one holds; `pointer` leads from here
/// to it. Definitions are among them.
template <typename Value, typename Visit>
void for_each_subschema(Value& schema, const Visit& visit);

/// A name as a part of a JSON pointer.
std::string pointer_part(std::string_view name);

template <typename Value, typename Visit>
void for_each_subschema(Value& schema, const Visit& visit) {
  auto* members = schema.if_object();
  if (!members) return;
  for (auto& each : *members) {
    const std::string_view key = each.key();
    const auto path = "/" + pointer_part(key);
    const auto visit_list = [&](auto& list) {
      for (std::size_t i = 0; i < list.size(); ++i)
        if (is_schema(list[i])) visit(list[i], path + "/" + std::to_string(i), key);
    };
    const auto visit_map = [&](auto& map) {
      for (auto& entry : map)
        if (is_schema(entry.value())) visit(entry.value(), path + "/" + pointer_part(entry.key()), key);
    };
    switch (key == "$defs" || key == "definitions" ? keyword_kind::schema_map : kind_of_keyword(key)) {
      case keyword_kind::schema:
        if (is_schema(each.value())) visit(each.value(), path, key);
        break;
      case keyword_kind::schemas:
        if (auto* list = each.value().if_array()) visit_list(*list);
        break;
      case keyword_kind::items:
        if (auto* list = each.value().if_array()) visit_list(*list);
        if (is_schema(each.value())) visit(each.value(), path, key);
        break;
      case keyword_kind::schema_map:
      case keyword_kind::dependencies:
        if (auto* map = each.value().if_object()) visit_map(*map);
        break;
      default:
        break;
    }
  }
}

}  // namespace cogen::grammar
