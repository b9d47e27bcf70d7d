#include "answers/grammar/schema_validity.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/number_range.hpp"
#include "answers/grammar/regex_syntax.hpp"
#include "answers/grammar/schema_cases.hpp"
#include "answers/grammar/string_formats.hpp"
#include "formats/json/printable.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

constexpr int max_check_depth = 128;

bool has_type(const json::value& value, std::string_view name) {
  if (name == "null") return value.is_null();
  if (name == "boolean") return value.is_bool();
  if (name == "integer") return is_integer(value);
  if (name == "number") return value.is_number();
  if (name == "string") return value.is_string();
  return name == "array" ? value.is_array() : value.is_object();
}

bool has_any_type(const json::value& value, const json::value& types) {
  if (types.is_string()) return has_type(value, types.get_string());
  return std::ranges::any_of(types.get_array(),
                             [&](const json::value& name) { return has_type(value, name.get_string()); });
}

class checker {
 public:
  explicit checker(const schema_document& document) : document_(document) {}

  bool check(const json::value& schema, const json::value& value) {
    if (schema.is_bool()) return schema.get_bool();
    document_.check(schema);
    if (++depth_ > max_check_depth) document_.refuse(schema, "$ref", "unbounded recursion is not supported");
    const bool valid = general(schema, value) && combined(schema, value) &&
                       (!value.is_number() || number(schema, value)) && (!value.is_string() || text(schema, value)) &&
                       (!value.is_array() || array(schema, value)) && (!value.is_object() || object(schema, value));
    --depth_;
    return valid;
  }

 private:
  bool general(const json::value& schema, const json::value& value) {
    if (const auto* types = member(schema, "type"); types && !has_any_type(value, *types)) return false;
    if (const auto* constant = member(schema, "const"); constant && !are_equal(*constant, value)) return false;
    const auto* list = member(schema, "enum");
    if (!list) return true;
    constexpr std::size_t of_members = 32;
    document_.count_comparisons(list->get_array().size() * (value.is_structured() ? of_members : 1));
    return std::ranges::any_of(list->get_array(), [&](const auto& listed) { return are_equal(listed, value); });
  }

  bool combined(const json::value& schema, const json::value& value) {
    const auto is_valid_by = [&](const json::value& subschema) { return check(subschema, value); };
    if (member(schema, "$ref") && !check(document_.resolve(schema), value)) return false;
    if (const auto* schemas = member(schema, "allOf");
        schemas && !std::ranges::all_of(schemas->get_array(), is_valid_by))
      return false;
    if (const auto* any = member(schema, "anyOf"); any && !std::ranges::any_of(any->get_array(), is_valid_by))
      return false;
    if (const auto* schemas = member(schema, "oneOf");
        schemas && std::ranges::count_if(schemas->get_array(), is_valid_by) != 1)
      return false;
    if (const auto* no = member(schema, "not"); no && check(*no, value)) return false;
    const auto* condition = member(schema, "if");
    if (!condition) return true;
    const auto* branch = member(schema, check(*condition, value) ? "then" : "else");
    return !branch || check(*branch, value);
  }

  bool number(const json::value& schema, const json::value& value) {
    const auto magnitude = number_of(value);
    if (const auto* min = member(schema, "minimum"); min && magnitude < number_of(*min)) return false;
    if (const auto* max = member(schema, "maximum"); max && magnitude > number_of(*max)) return false;
    if (const auto* min = member(schema, "exclusiveMinimum"); min && magnitude <= number_of(*min)) return false;
    if (const auto* max = member(schema, "exclusiveMaximum"); max && magnitude >= number_of(*max)) return false;
    const auto* factor = member(schema, "multipleOf");
    if (!factor) return true;
    const auto number = decimal::parse(number_text(value)), unit = decimal::parse(number_text(*factor));
    const auto known = number && unit ? is_multiple(*number, *unit) : std::nullopt;
    if (!known) document_.refuse(schema, "multipleOf", "multipleOf of such values is not supported");
    return *known;
  }

  bool text(const json::value& schema, const json::value& value) {
    const std::string_view characters(value.get_string());
    const exact_number length = character_count(characters);
    if (const auto* min = member(schema, "minLength"); min && length < number_of(*min)) return false;
    if (const auto* max = member(schema, "maxLength"); max && length > number_of(*max)) return false;
    if (const auto* pattern = member(schema, "pattern");
        pattern && !matches(parse_pattern(document_, schema, "pattern", pattern->get_string()), characters))
      return false;
    const auto* format = member(schema, "format");
    const auto* known = format ? format_named(format->get_string()) : nullptr;
    return !known || matches(*known, characters);
  }

  bool array(const json::value& schema, const json::value& value) {
    const auto& items = value.get_array();
    const exact_number size = items.size();
    if (member(schema, "unevaluatedItems"))
      document_.refuse(schema, "unevaluatedItems", "unevaluatedItems beside enum or const is not supported");
    if (const auto* min = member(schema, "minItems"); min && size < number_of(*min)) return false;
    if (const auto* max = member(schema, "maxItems"); max && size > number_of(*max)) return false;
    if (const auto* unique = member(schema, "uniqueItems"); unique && unique->get_bool() && !all_differ(items))
      return false;
    for (std::size_t i = 0; i < items.size(); ++i)
      if (const auto* subschema = item_schema(schema, i); subschema && !check(*subschema, items[i])) return false;
    return !member(schema, "contains") || contains(schema, items);
  }

  bool contains(const json::value& schema, const json::array& items) {
    const auto& wanted = *member(schema, "contains");
    const exact_number count =
        std::ranges::count_if(items, [&](const json::value& item) { return check(wanted, item); });
    const auto* min = member(schema, "minContains");
    const auto* max = member(schema, "maxContains");
    return count >= (min ? number_of(*min) : 1) && (!max || count <= number_of(*max));
  }

  static bool all_differ(const json::array& items) {
    for (std::size_t i = 0; i < items.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (are_equal(items[i], items[j])) return false;
    return true;
  }

  bool object(const json::value& schema, const json::value& value) {
    const auto& members = value.get_object();
    const exact_number size = members.size();
    const auto has = [&](const json::value& key) { return members.contains(key.get_string()); };
    if (member(schema, "unevaluatedProperties"))
      document_.refuse(schema, "unevaluatedProperties", "unevaluatedProperties beside enum or const is not supported");
    if (const auto* min = member(schema, "minProperties"); min && size < number_of(*min)) return false;
    if (const auto* max = member(schema, "maxProperties"); max && size > number_of(*max)) return false;
    if (const auto* required = member(schema, "required"); required && !std::ranges::all_of(required->get_array(), has))
      return false;
    for (const auto& each : members)
      if (!property(schema, each.key(), each.value())) return false;
    return dependencies(schema, value, has);
  }

  bool property(const json::value& schema, std::string_view key, const json::value& value) {
    if (const auto* names = member(schema, "propertyNames"); names && !check(*names, json::value(key))) return false;
    return std::ranges::all_of(property_schemas(document_, schema, key),
                               [&](const auto* subschema) { return check(*subschema, value); });
  }

  template <typename Has>
  bool dependencies(const json::value& schema, const json::value& value, const Has& has) {
    for (const auto* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
      const auto* dependencies = member(schema, keyword);
      if (!dependencies) continue;
      for (const auto& each : dependencies->get_object()) {
        if (!value.get_object().contains(each.key())) continue;
        const auto& then = each.value();
        if (then.is_array() ? !std::ranges::all_of(then.get_array(), has) : !check(then, value)) return false;
      }
    }
    return true;
  }

  const schema_document& document_;
  int depth_ = 0;
};

}  // namespace

bool is_valid(const schema_document& document, const json::value& schema, const json::value& value) {
  return checker(document).check(schema, value);
}

}  // namespace cogen::grammar
