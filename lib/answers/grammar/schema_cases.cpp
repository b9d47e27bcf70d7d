#include "answers/grammar/schema_cases.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/schema_validity.hpp"
#include "answers/grammar/steps.hpp"
#include "answers/grammar/string_formats.hpp"
#include "formats/json/printable.hpp"

#include <algorithm>
#include <charconv>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

const json::value never = false;

/// With fewer choices left, it is quicker to try all of them.
constexpr std::size_t min_pruned_choices = 2;

/// Choices that a value waits for while others are made.
constexpr int max_nested_choices = 1000;

constexpr std::string_view type_names[] = {"null", "boolean", "number", "string", "array", "object"};

std::string_view name_of(value_type type) { return type_names[static_cast<std::size_t>(type)]; }

std::vector<std::string> texts_of(const json::value& value) {
  if (value.is_string()) return {std::string(value.get_string())};
  std::vector<std::string> texts;
  for (const auto& each : value.get_array()) texts.emplace_back(each.get_string());
  return texts;
}

bool contains(const std::vector<std::string>& texts, std::string_view wanted) {
  return std::ranges::find(texts, wanted) != texts.end();
}

/// The list of `{"not": {"enum": ...}}` or `{"not": {"const": ...}}`, which no other schema expresses.
std::vector<const json::value*> excluded_by(const json::value& schema) {
  const auto* inner = member(schema, "not");
  if (!inner || !inner->is_object() || inner->get_object().size() != 1) return {};
  if (const auto* value = member(*inner, "const")) return {value};
  std::vector<const json::value*> values;
  if (const auto* list = member(*inner, "enum"); list && list->is_array())
    for (const auto& entry : list->get_array()) values.push_back(&entry);
  return values;
}

std::vector<const json::value*> excluded_by(const schema_case& applied) {
  std::vector<const json::value*> values;
  for (const auto& each : applied)
    for (const auto* value : excluded_by(*each.schema)) values.push_back(value);
  return values;
}

/// The pattern or the format of a `not` with nothing else, which no other schema expresses, either.
const json::value* denied_by(const json::value& schema, const char* keyword) {
  const auto* inner = member(schema, "not");
  const auto* members = inner ? inner->if_object() : nullptr;
  const auto* value = members && members->size() == 1 ? members->if_contains(keyword) : nullptr;
  return value && value->is_string() ? value : nullptr;
}

bool denies_strings(const json::value& schema) {
  const auto* format = denied_by(schema, "format");
  return denied_by(schema, "pattern") || (format && format_named(format->get_string()));
}

/// Numbers that are no integers, which no other schema expresses, either.
bool denies_integers(const json::value& schema) {
  const auto* type = member(schema, "type");
  const auto* inner = member(schema, "not");
  return type && inner && *type == "number" && *inner == json::value{{"type", "integer"}};
}

bool is_below(const schema_case& applied, std::size_t index, std::size_t above) {
  for (auto ancestor = static_cast<int>(index); ancestor >= 0;
       ancestor = applied[static_cast<std::size_t>(ancestor)].parent) {
    if (ancestor == static_cast<int>(above)) return true;
    if (!applied[static_cast<std::size_t>(ancestor)].evaluates) return false;
  }
  return false;
}

/// Adds a schema of `keyword` to what a part of a value has to satisfy, where nothing below it evaluates that part.
template <typename Evaluates>
void add_unevaluated(const schema_case& applied, const char* keyword, const Evaluates& evaluates, schema_set& schemas) {
  for (std::size_t above = 0; above < applied.size(); ++above) {
    const auto* rest = member(*applied[above].schema, keyword);
    if (!rest) continue;
    bool evaluated = false;
    for (std::size_t i = 0; i < applied.size() && !evaluated; ++i)
      evaluated = is_below(applied, i, above) &&
                  (evaluates(*applied[i].schema) || (i != above && member(*applied[i].schema, keyword)));
    if (!evaluated) schemas.insert(rest);
  }
}

decimal decimal_of(const schema_document& document, const json::value& schema, const char* key) {
  if (const auto parsed = decimal::parse(number_text(*member(schema, key)))) return *parsed;
  document.refuse(schema, key, std::string(key) + " has more than 40 digits before or after the point");
}

}  // namespace

struct schema_cases::pending {
  schema_case applied = {};
  branch schemas = {};
  std::vector<std::vector<branch>> choices = {};  // one branch of each is to be chosen
};

void schema_budget::check_nesting(std::size_t schemas) {
  constexpr std::size_t max = 200;
  if (schemas > max) throw schema_size_error("JSON schema: it nests more than " + std::to_string(max) + " schemas");
}

void schema_budget::spend() {
  if (left_ == 0)
    throw schema_size_error("JSON schema: it expands to more than " + std::to_string(steps_) + " schemas");
  --left_;
  count_step();
}

std::vector<schema_case> schema_cases::expand(const schema_set& schemas) {
  pending state;
  for (const auto* each : schemas) state.schemas.push_back({each});
  const auto lists_values = [&](const applied_schema& part) {
    document_.check(*part.schema);
    return member(*part.schema, "enum") || member(*part.schema, "const");
  };
  if (std::ranges::any_of(state.schemas, lists_values)) return {state.schemas};
  std::vector<schema_case> cases;
  expand(std::move(state), cases);
  return cases;
}

void schema_cases::expand(pending state, std::vector<schema_case>& cases) {
  budget_.spend();
  while (!state.schemas.empty()) {
    const auto next = state.schemas.back();
    state.schemas.pop_back();
    if (next.schema->is_bool()) {
      if (!next.schema->get_bool()) return;
      continue;
    }
    apply(state, next);
  }
  if (std::ranges::none_of(all_value_types, [&](value_type type) { return allows(state.applied, type); })) return;
  if (state.choices.empty()) {
    cases.push_back(std::move(state.applied));
    return;
  }
  const auto choice = std::move(state.choices.back());
  state.choices.pop_back();
  if (state.choices.size() + 1 >= min_pruned_choices && is_empty(state.applied)) return;
  if (++nested_choices_ > max_nested_choices)
    throw schema_size_error("JSON schema: it nests more than " + std::to_string(max_nested_choices) + " choices");
  for (const auto& each : choice) {
    auto chosen = state;
    chosen.schemas = each;
    expand(std::move(chosen), cases);
  }
  --nested_choices_;
}

void schema_cases::apply(pending& state, const applied_schema& next) {
  const auto& schema = *next.schema;
  document_.check(schema);
  for (auto above = next.parent; above >= 0; above = state.applied[static_cast<std::size_t>(above)].parent)
    if (state.applied[static_cast<std::size_t>(above)].schema == &schema)
      refuse({state.applied[static_cast<std::size_t>(next.parent)]},
             {"$ref", "anyOf", "oneOf", "allOf", "not", "if", "dependentSchemas", "dependencies"},
             "unbounded recursion: it applies itself to the same value");
  budget_.spend();
  const auto index = static_cast<int>(state.applied.size());
  state.applied.push_back(next);
  const auto waiting = static_cast<std::ptrdiff_t>(state.schemas.size());
  if (member(schema, "$ref")) state.schemas.push_back({&document_.resolve(schema), index});
  if (const auto* parts = member(schema, "allOf"))
    for (const auto& part : parts->get_array()) state.schemas.push_back({&part, index});
  if (const auto* no = member(schema, "not");
      no && excluded_by(schema).empty() && !denies_strings(schema) && !denies_integers(schema))
    state.schemas.push_back({&negation_of(*no), index, false});
  std::reverse(state.schemas.begin() + waiting,
               state.schemas.end());  // the last one is the next: properties stay in order
  apply_choices(state, schema, index);
  apply_dependencies(state, schema, index);
}

void schema_cases::apply_choices(pending& state, const json::value& schema, int index) {
  if (const auto* any = member(schema, "anyOf")) {
    std::vector<branch> branches;
    for (const auto& option : any->get_array()) branches.push_back({{&option, index}});
    state.choices.push_back(std::move(branches));
  }
  if (member(schema, "oneOf")) state.choices.push_back(branches_of_one(schema, index));
  const auto* condition = member(schema, "if");
  if (!condition || (!member(schema, "then") && !member(schema, "else"))) return;
  branch holds = {{condition, index}}, fails = {{&without(*condition), index, false}};
  if (const auto* then = member(schema, "then")) holds.push_back({then, index});
  if (const auto* otherwise = member(schema, "else")) fails.push_back({otherwise, index});
  state.choices.push_back({std::move(holds), std::move(fails)});
}

void schema_cases::apply_dependencies(pending& state, const json::value& schema, int index) {
  for (const auto* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const auto* dependencies = member(schema, keyword);
    if (!dependencies) continue;
    for (const auto& each : dependencies->get_object()) {
      const auto& then = each.value();
      const auto& absent = derive(purpose::absent, then, [&]() -> json::value {
        return {{"properties", json::object{{each.key(), false}}}};
      });
      const auto& present = derive(purpose::present, then, [&]() -> json::value {
        return {{"required", json::array{each.key()}}};
      });
      const auto& needed = !then.is_array() ? then : derive(purpose::needed, then, [&]() -> json::value {
        return {{"required", then}};
      });
      state.choices.push_back({{{&absent, index, false}}, {{&present, index, false}, {&needed, index}}});
    }
  }
}

/// Exactly one: each, where the others that may hold as well do not.
std::vector<schema_cases::branch> schema_cases::branches_of_one(const json::value& schema, int index) {
  const auto& options = member(schema, "oneOf")->get_array();
  const auto& siblings = derive(purpose::siblings, schema, [&]() -> json::value {
    auto members = schema.get_object();
    for (const auto* keyword : {"oneOf", "$id", "$defs", "definitions"}) members.erase(keyword);
    return members;
  });
  std::vector<branch> branches;
  for (std::size_t i = 0; i < options.size(); ++i) {
    branch choice = {{&options[i], index}};
    for (std::size_t j = 0; j < options.size(); ++j)
      if (j != i && !is_surely_empty({&siblings, &options[i], &options[j]}))
        choice.push_back({&without(options[j]), index, false});
    branches.push_back(std::move(choice));
  }
  return branches;
}

bool schema_cases::is_surely_empty(const schema_set& schemas) {
  const auto uses = partial_uses_;
  return is_empty(schemas) && partial_uses_ == uses;
}

const json::value& schema_cases::without(const json::value& schema) {
  return derive(purpose::not_of, schema, [&]() -> json::value { return {{"not", schema}}; });
}

bool schema_cases::is_empty(const string_rules& strings) {
  if (strings.lengths.min > strings.lengths.max) return true;
  if (strings.patterns.size() + strings.denied.size() < 2) return false;
  try {
    return !strings_in_json(strings);
  } catch (const grammar_error&) {  // it will be refused where it is written
    return false;
  }
}

bool schema_cases::is_empty(const schema_set& schemas) {
  if (not_empty_.contains(schemas)) return false;
  // A value that is valid has parts that are valid by fewer and fewer schemas.
  if (!being_tested_.insert(schemas).second) return true;
  schema_budget::check_nesting(being_tested_.size());
  const auto cases = expand(schemas);
  const bool empty = std::ranges::all_of(cases, [&](const schema_case& alternative) { return is_empty(alternative); });
  being_tested_.erase(schemas);
  if (!empty) not_empty_.insert(schemas);
  return empty;
}

bool schema_cases::is_empty(const schema_case& applied) {
  if (const auto values = values_of(applied)) return values->empty();
  if (allows(applied, value_type::null)) return false;
  if (allows(applied, value_type::boolean) && (allows(applied, true) || allows(applied, false))) return false;
  const auto range = numbers_of(applied);
  const bool has_numbers = numbers(range) && !(range.integer && excludes_integers(applied));
  if (allows(applied, value_type::number) && has_numbers) return false;
  if (allows(applied, value_type::string)) {
    if (!is_empty(strings_of(applied))) return false;
  }
  if (allows(applied, value_type::array) && !is_empty_array(applied)) return false;
  return !allows(applied, value_type::object) || is_empty_object(applied);
}

bool schema_cases::is_empty_array(const schema_case& applied) {
  const auto count = count_of(applied, "minItems", "maxItems");
  if (count.min > count.max) return true;
  const auto needed = std::min<std::uint64_t>(count.min, prefix_of(applied) + 1);
  for (std::size_t i = 0; i < needed; ++i)
    if (is_empty(item_of(applied, i))) return true;
  return false;
}

bool schema_cases::is_empty_object(const schema_case& applied) {
  const auto count = count_of(applied, "minProperties", "maxProperties");
  const auto required = required_of(applied);
  return count.min > count.max || required.size() > count.max ||
         std::ranges::any_of(required, [&](const auto& name) { return is_empty(property_of(applied, name)); });
}

std::optional<std::vector<json::value>> schema_cases::values_of(const schema_case& applied) const {
  std::vector<json::value> values;
  const auto listing = std::ranges::find_if(applied, [](const applied_schema& part) {
    return member(*part.schema, "enum") || member(*part.schema, "const");
  });
  if (listing == applied.end()) return std::nullopt;
  if (const auto* constant = member(*listing->schema, "const")) {
    values.push_back(*constant);
  } else {
    for (const auto& each : member(*listing->schema, "enum")->get_array()) values.push_back(each);
  }
  std::erase_if(values, [&](const json::value& value) {
    return std::ranges::any_of(applied,
                               [&](const applied_schema& part) { return !is_valid(document_, *part.schema, value); });
  });
  return values;
}

bool schema_cases::allows(const schema_case& applied, value_type type) const {
  for (const auto& each : applied) {
    if (type != value_type::string && denies_strings(*each.schema)) return false;
    if (const auto* types = member(*each.schema, "type")) {
      const auto names = texts_of(*types);
      if (!contains(names, name_of(type)) && (type != value_type::number || !contains(names, "integer"))) return false;
    }
  }
  for (const auto* value : excluded_by(applied)) {
    if (value->is_null() && type == value_type::null) return false;
    if ((value->is_array() && type == value_type::array) || (value->is_object() && type == value_type::object))
      refuse(applied, {"not"}, "\"not\" of an array or an object is not supported");
  }
  return true;
}

bool schema_cases::allows(const schema_case& applied, bool value) const {
  return std::ranges::none_of(excluded_by(applied), [&](const json::value* excluded) {
    return excluded->is_bool() && excluded->get_bool() == value;
  });
}

number_range schema_cases::numbers_of(const schema_case& applied) const {
  number_range range;
  for (const auto& each : applied) {
    const auto& schema = *each.schema;
    if (const auto* types = member(schema, "type"); types && !contains(texts_of(*types), "number"))
      range.integer = true;
    if (member(schema, "minimum")) range.raise({decimal_of(document_, schema, "minimum")});
    if (member(schema, "maximum")) range.lower({decimal_of(document_, schema, "maximum")});
    if (member(schema, "exclusiveMinimum")) range.raise({decimal_of(document_, schema, "exclusiveMinimum"), true});
    if (member(schema, "exclusiveMaximum")) range.lower({decimal_of(document_, schema, "exclusiveMaximum"), true});
  }
  return range;
}

std::vector<decimal> schema_cases::excluded_numbers(const schema_case& applied) const {
  std::vector<decimal> numbers;
  for (const auto* value : excluded_by(applied)) {
    if (!value->is_number()) continue;
    const auto parsed = decimal::parse(number_text(*value));
    if (!parsed) refuse(applied, {"not"}, "\"not\" of a number has more than 40 digits before or after the point");
    numbers.push_back(*parsed);
  }
  return numbers;
}

bool schema_cases::excludes_integers(const schema_case& applied) const {
  return std::ranges::any_of(applied, [](const applied_schema& part) { return denies_integers(*part.schema); });
}

std::vector<decimal> schema_cases::factors_of(const schema_case& applied) const {
  std::vector<decimal> factors;
  for (const auto& each : applied)
    if (member(*each.schema, "multipleOf")) factors.push_back(decimal_of(document_, *each.schema, "multipleOf"));
  return factors;
}

string_rules schema_cases::strings_of(const schema_case& applied) const {
  string_rules strings{.lengths = count_of(applied, "minLength", "maxLength")};
  for (const auto& each : applied) {
    if (const auto* pattern = member(*each.schema, "pattern"))
      strings.patterns.emplace("the pattern " + cogen::json::in_quotes(pattern->get_string()),
                               parse_pattern(document_, *each.schema, "pattern", pattern->get_string()));
    if (const auto* format = member(*each.schema, "format"))
      if (const auto* known = format_named(format->get_string()))
        strings.patterns.emplace("the format " + cogen::json::in_quotes(format->get_string()), *known);
  }
  for (const auto& each : applied) {
    if (const auto* pattern = denied_by(*each.schema, "pattern"))
      strings.denied.push_back(parse_pattern(document_, *each.schema, "not", pattern->get_string()));
    if (const auto* format = denied_by(*each.schema, "format"))
      if (const auto* known = format_named(format->get_string())) strings.denied.push_back(*known);
  }
  for (const auto* value : excluded_by(applied))
    if (value->is_string()) strings.excluded.emplace_back(value->get_string());
  return strings;
}

repetition schema_cases::count_of(const schema_case& applied, const char* min, const char* max) const {
  repetition count;
  for (const auto& each : applied) {
    if (const auto* value = member(*each.schema, min)) count.min = std::max(count.min, count_value(*value));
    if (const auto* value = member(*each.schema, max)) count.max = std::min(count.max, count_value(*value));
  }
  return count;
}

std::vector<std::string> schema_cases::required_of(const schema_case& applied) const {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const auto& each : applied)
    if (const auto* required = member(*each.schema, "required"))
      for (const auto& name : texts_of(*required))
        if (known.insert(name).second) names.push_back(name);
  return names;
}

schema_set schema_cases::item_of(const schema_case& applied, std::size_t index) const {
  schema_set schemas;
  for (const auto& each : applied)
    if (const auto* item = item_schema(*each.schema, index)) schemas.insert(item);
  add_unevaluated(
      applied, "unevaluatedItems", [&](const json::value& schema) { return item_schema(schema, index) != nullptr; },
      schemas);
  return schemas;
}

std::size_t schema_cases::prefix_of(const schema_case& applied) const {
  std::size_t length = 0;
  for (const auto& each : applied)
    for (const auto* keyword : {"prefixItems", "items"})
      if (const auto* list = member(*each.schema, keyword); list && list->is_array())
        length = std::max(length, list->get_array().size());
  return length;
}

schema_set schema_cases::property_of(const schema_case& applied, const std::string& name) const {
  schema_set schemas;
  for (const auto& each : applied) {
    count_step();
    for (const auto* schema : property_schemas(document_, *each.schema, name)) schemas.insert(schema);
    if (const auto* names = member(*each.schema, "propertyNames"))
      if (!is_valid(document_, *names, json::value(name))) schemas.insert(&never);
  }
  add_unevaluated(
      applied, "unevaluatedProperties",
      [&](const json::value& schema) { return !property_schemas(document_, schema, name).empty(); }, schemas);
  return schemas;
}

schema_set schema_cases::other_property_of(const schema_case& applied, const std::set<std::string>& patterns,
                                           const std::set<std::string>& possible) const {
  schema_set schemas;
  const auto is_known_to = [&](const json::value& schema) {
    const auto* own = member(schema, "patternProperties");
    return own && std::ranges::any_of(patterns, [&](const auto& pattern) { return member(*own, pattern); });
  };
  for (const auto& each : applied) {
    if (const auto* own = member(*each.schema, "patternProperties"))
      for (const auto& entry : own->get_object())
        if (patterns.contains(entry.key()) || possible.contains(entry.key())) schemas.insert(&entry.value());
    if (const auto* rest = member(*each.schema, "additionalProperties"); rest && !is_known_to(*each.schema))
      schemas.insert(rest);
  }
  add_unevaluated(
      applied, "unevaluatedProperties",
      [&](const json::value& schema) { return is_known_to(schema) || member(schema, "additionalProperties"); },
      schemas);
  return schemas;
}

void schema_cases::refuse(const schema_case& applied, std::initializer_list<const char*> keywords,
                          std::string_view reason) const {
  for (const auto* keyword : keywords)
    for (const auto& each : applied)
      if (member(*each.schema, keyword)) document_.refuse(*each.schema, keyword, reason);
  document_.refuse(*applied.front().schema, *keywords.begin(), reason);
}

std::set<std::string> schema_cases::patterns_of(const schema_case& applied) const {
  std::set<std::string> patterns;
  for (const auto& each : applied)
    if (const auto* properties = member(*each.schema, "patternProperties"))
      for (const auto& entry : properties->get_object()) patterns.emplace(entry.key());
  return patterns;
}

regex_node schema_cases::pattern_of(const schema_case& applied, const std::string& pattern) const {
  try {
    return parse_regex(pattern, regex_match::search);
  } catch (const grammar_error& error) {
    refuse(applied, {"patternProperties"}, error.what());
  }
}

std::string number_text(const json::value& number) {
  char text[64];
  if (number.is_int64()) return std::to_string(number.get_int64());
  if (number.is_uint64()) return std::to_string(number.get_uint64());
  return {text, std::to_chars(text, text + sizeof text, number.get_double()).ptr};
}

}  // namespace cogen::grammar
