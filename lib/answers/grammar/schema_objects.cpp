// The members of objects.
#include "answers/grammar/regex_intersection.hpp"
#include "answers/grammar/schema_writer.hpp"
#include "answers/grammar/steps.hpp"
#include "formats/json/printable.hpp"

#include <algorithm>

namespace cogen::grammar {

namespace json = boost::json;

namespace {

constexpr std::size_t max_required = 4000;
constexpr std::uint64_t max_counts = 5000;

/// Which optional members were written is told apart by rules as long as these are few.
constexpr std::size_t max_written_apart = 3;
constexpr std::size_t max_places_apart = 32;

/// Names that others must differ from take a state for each character.
constexpr std::size_t max_excluded_characters = 600;

bool are_too_many(const std::vector<std::string>& excluded) {
  std::size_t characters = 0;
  for (const auto& each : excluded) characters += each.size();
  return characters > max_excluded_characters;
}

std::string spelled_name(const std::string& name) {
  const auto quoted = json_spelling(std::string_view(name));
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::optional<std::string> schema_writer::object(const schema_case& applied) {
  if (is_any_object(applied)) return "object";
  members layout{.count = cases_.count_of(applied, "minProperties", "maxProperties")};
  std::vector<std::string> excluded;
  if (!list_properties(applied, layout, excluded)) return std::nullopt;
  add_others(applied, layout, excluded);
  if (!limit_count(applied, layout)) return std::nullopt;
  write_tails(layout);
  const auto content = members_at(layout, {});
  if (!content) return std::nullopt;
  if (!layout.are_distinct) return sequence({literal("{"), "ws", *content, literal("}")});
  distinct_rule names{.endless = layout.others_are_endless,
                      .listed = !layout.other,
                      .behind = layout.behind.has_value(),
                      .required = layout.required.size()};
  for (const auto* list : {&layout.required, &layout.optional})
    for (const auto& property : *list) names.names.push_back(spelled_name(property.name));
  return sequence({rules_.add_bracket('{', std::move(names)), "ws", *content, literal("}")});
}

namespace {

constexpr std::size_t max_told_apart = 3;

/// Whether a pattern matches a name that the rules allow.
bool may_match(const string_rules& rules, const regex_node& pattern) {
  std::vector<regex_node> nodes = {pattern};
  for (const auto& [text, node] : rules.patterns) nodes.push_back(node);
  return nodes.size() == 1 || intersection(nodes, {}).has_value();
}

/// All subsets of a few; of more of them, each by itself.
std::vector<std::set<std::string>> groups_of(const std::set<std::string>& patterns) {
  std::vector<std::set<std::string>> groups = {{}};
  for (const auto& pattern : patterns)
    for (std::size_t i = 0, previous = patterns.size() > max_told_apart ? 1 : groups.size(); i < previous; ++i) {
      groups.push_back(groups[i]);
      groups.back().insert(pattern);
    }
  return groups;
}

}  // namespace

bool schema_writer::is_any_object(const schema_case& applied) {
  static constexpr const char* keywords[] = {
      "properties",    "required",      "patternProperties", "additionalProperties",
      "propertyNames", "minProperties", "maxProperties",     "unevaluatedProperties"};
  return std::ranges::none_of(applied, [](const applied_schema& part) {
    return std::ranges::any_of(keywords, [&](const char* keyword) { return member(*part.schema, keyword); });
  });
}

bool schema_writer::list_properties(const schema_case& applied, members& layout, std::vector<std::string>& excluded) {
  const auto required = cases_.required_of(applied);
  const std::set<std::string_view> all_required(required.begin(), required.end());
  auto names = names_of(applied);
  const std::set<std::string> listed(names.begin(), names.end());
  for (const auto& name : required)
    if (!listed.contains(name)) names.push_back(name);
  for (auto& name : names) {
    auto schemas = cases_.property_of(applied, name);
    const bool needed = all_required.contains(name);
    const bool is_empty = cases_.is_empty(schemas);
    if (is_empty && needed) return false;
    excluded.push_back(name);
    if (!is_empty) (needed ? layout.required : layout.optional).push_back({std::move(name), std::move(schemas)});
  }
  return true;
}

std::vector<std::string> schema_writer::names_of(const schema_case& applied) {
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const auto& each : applied)
    if (const auto* properties = member(*each.schema, "properties"))
      for (const auto& property : properties->get_object())
        if (known.insert(property.key()).second) names.emplace_back(property.key());
  return names;
}

/// Names that no pattern matches, and those that some patterns match and others do not.
void schema_writer::add_others(const schema_case& applied, members& layout, const std::vector<std::string>& excluded) {
  const auto patterns = cases_.patterns_of(applied);
  const auto rules = key_rules(applied);
  const bool is_open = layout.listed() == 0 || says_what_others_are(applied);
  std::vector<std::string> parts;
  if (!rules) return;
  for (const auto& some : groups_of(patterns)) {
    if (some.empty() && !is_open) continue;
    auto part = other_member(applied, *rules, some, excluded);
    if (!part) continue;
    parts.push_back(std::move(*part));
    layout.others_are_endless = some.empty() && patterns.empty() && rules->unlimited();
  }
  if (!is_open && unnamed_ == unnamed_properties::behind && patterns.empty() && rules->unlimited() &&
      layout.count == repetition{})
    if (const auto part = other_member(applied, *rules, {}, excluded))
      rules_.add(*(layout.behind = rules_.new_name("member")), *part);
  if (parts.empty()) return;
  layout.other = rules_.new_name("member");
  rules_.add(*layout.other, alternatives(parts));
}

/// Where it takes too much to say that the name matches no other pattern, the value is valid by all of them.
std::optional<std::string> schema_writer::other_member(const schema_case& applied, const string_rules& rules,
                                                       const std::set<std::string>& wanted,
                                                       const std::vector<std::string>& excluded) {
  auto name = rules;
  for (const auto& pattern : wanted)
    name.patterns.emplace("the pattern " + cogen::json::in_quotes(pattern), cases_.pattern_of(applied, pattern));
  for (const auto& each : excluded)
    if (std::ranges::all_of(name.patterns, [&](const auto& pattern) { return matches(pattern.second, each); }))
      name.excluded.push_back(each);
  if (are_too_many(name.excluded)) return std::nullopt;
  auto schemas = cases_.other_property_of(applied, wanted);
  if (cases_.is_empty(schemas)) return std::nullopt;
  std::optional<std::string> key;
  try {
    key = string(apart_from_others(applied, name, wanted));
  } catch (const keyword_error&) {
    throw;
  } catch (const grammar_error&) {
    if (wanted.size() != 1) return std::nullopt;  // others will do
    schemas = cases_.other_property_of(applied, wanted, cases_.patterns_of(applied));
    if (cases_.is_empty(schemas)) return std::nullopt;
    key = kept(applied, {"propertyNames", "patternProperties", "additionalProperties"}, [&] { return string(name); });
  }
  if (!key) return std::nullopt;
  return sequence({*key, R"(ws ":" ws)", rule_of(schemas), "ws"});
}

/// The names that no other pattern matches.
string_rules schema_writer::apart_from_others(const schema_case& applied, string_rules names,
                                              const std::set<std::string>& wanted) {
  for (const auto& pattern : cases_.patterns_of(applied))
    if (!wanted.contains(pattern) && may_match(names, cases_.pattern_of(applied, pattern)))
      names.denied.push_back(cases_.pattern_of(applied, pattern));
  return names;
}

bool schema_writer::says_what_others_are(const schema_case& applied) {
  return std::ranges::any_of(applied, [](const applied_schema& part) {
    return member(*part.schema, "additionalProperties") || member(*part.schema, "unevaluatedProperties");
  });
}

std::optional<string_rules> schema_writer::key_rules(const schema_case& applied) {
  schema_set names;
  for (const auto& each : applied)
    if (const auto* schema = member(*each.schema, "propertyNames")) names.insert(schema);
  const auto cases = cases_.expand(names);
  if (cases.size() == 1 && !cases_.values_of(cases.front())) {
    if (!cases_.allows(cases.front(), value_type::string)) return std::nullopt;
    return cases_.strings_of(cases.front());
  }
  std::vector<regex_node> ways;
  for (const auto& each : cases) add_names(applied, each, ways);
  if (ways.empty()) return std::nullopt;
  string_rules rules;
  rules.patterns.emplace("propertyNames", any_of(std::move(ways)));
  return rules;
}

void schema_writer::add_names(const schema_case& applied, const schema_case& names, std::vector<regex_node>& ways) {
  if (const auto values = cases_.values_of(names)) {
    for (const auto& each : *values)
      if (each.is_string()) ways.push_back(of_text(each.get_string()));
  } else if (cases_.allows(names, value_type::string)) {
    std::optional<regex_node> texts;
    static_cast<void>(kept(applied, {"propertyNames"}, [&]() -> std::optional<std::string> {
      texts = strings_without_quotes(cases_.strings_of(names));
      return std::nullopt;
    }));
    if (texts) ways.push_back(std::move(*texts));
  }
}

bool schema_writer::limit_count(const schema_case& applied, members& layout) {
  const auto& [min, max] = layout.count;
  const auto listed = layout.listed();
  if (min > max || layout.required.size() > max) return false;
  if (!layout.other && min > listed) return false;
  if (layout.required.size() > max_required)
    cases_.refuse(applied, {"required"},
                  std::to_string(layout.required.size()) + " required properties exceed the limit of " +
                      std::to_string(max_required));
  if (min > listed + 1 && !layout.others_are_endless)
    cases_.refuse(
        applied, {"minProperties"},
        "minProperties above the number of listed properties is supported where the names of others are free");
  const bool is_limited = max < listed || (layout.other && max != repetition::unlimited);
  layout.counted = is_limited ? max : std::max<std::uint64_t>(min, 1);
  const auto places = (layout.required.size() + 1) << std::min(layout.optional.size(), max_written_apart + 1);
  layout.are_distinct = layout.optional.size() > max_written_apart ||
                        (!layout.optional.empty() && places > max_places_apart) ||
                        (layout.other && (min > 1 || is_limited));
  if ((layout.required.size() + 1) * layout.counted > max_counts)
    cases_.refuse(applied, {"maxProperties", "minProperties"},
                  "minProperties and maxProperties are supported for up to " + std::to_string(max_counts) +
                      " counts at required properties");
  return true;
}

std::string schema_writer::member_of(listed_property& property) {
  if (property.member.empty()) {
    const auto expression = sequence({schema_writer::property(property.name, rule_of(property.schemas)), "ws"});
    rules_.add(property.member = rules_.new_name("member"), expression);
  }
  return property.member;
}

std::string schema_writer::any_optional_of(members& layout) {
  if (layout.any_optional.empty()) {
    std::vector<std::string> parts;
    for (auto& each : layout.optional) parts.push_back(member_of(each));
    rules_.add(layout.any_optional = rules_.new_name("optional"), alternatives(parts));
  }
  return layout.any_optional;
}

std::vector<schema_writer::member_step> schema_writer::steps_at(members& layout, const member_place& place) {
  const auto& [done, required, written] = place;
  const auto left = less(layout.count.max, done);
  std::vector<member_step> steps;
  if (left == 0 || layout.required.size() - required > left) return steps;
  const auto go_on = [&](const std::string& part, std::size_t next_required, std::uint32_t next_written) {
    const member_place next{std::min(done + 1, layout.counted), next_required, next_written};
    steps.push_back({done > 0 ? sequence({R"("," ws)", part}) : part, next});
  };
  if (layout.are_distinct && !layout.optional.empty()) {
    go_on(any_optional_of(layout), required, written);
  } else {
    for (std::size_t i = 0; i < layout.optional.size(); ++i)
      if ((written >> i & 1) == 0) go_on(member_of(layout.optional[i]), required, written | std::uint32_t{1} << i);
  }
  if (layout.other) go_on(*layout.other, required, written);
  if (required < layout.required.size()) go_on(member_of(layout.required[required]), required + 1, written);
  return steps;
}

std::optional<std::string> schema_writer::members_at(members& layout, const member_place& place) {
  if (layout.required.size() - place.required > less(layout.count.max, place.done)) return std::nullopt;
  std::vector<std::string> again, further;
  for (const auto& [part, next] : steps_at(layout, place)) {
    if (next == place)
      again.push_back(part);
    else if (const auto& rest = layout.tails.at(next))
      add(further, sequence({part, *rest}));
  }
  if (place.required == layout.required.size() && place.done >= layout.count.min)
    further.push_back(members_behind(layout, place.done));
  if (further.empty()) return std::nullopt;
  if (again.empty()) return alternatives(further);
  return sequence({repeated(alternatives(again), {}), alternatives(further)});
}

std::string schema_writer::members_behind(const members& layout, std::uint64_t done) {
  if (!layout.behind) return literal("");
  const auto more = repeated(sequence({R"("," ws)", *layout.behind}), {});
  return done > 0 ? more : optional(sequence({*layout.behind, more}));
}

void schema_writer::add_unwritten(members& layout, const member_place& place, std::vector<member_place>& places) {
  auto steps = steps_at(layout, place);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (step->next != place && !layout.tails.contains(step->next)) places.push_back(step->next);
}

/// From the last place to the first one: there may be thousands, one behind the other.
void schema_writer::write_tails(members& layout) {
  std::vector<member_place> places;
  add_unwritten(layout, {}, places);
  while (!places.empty()) {
    count_step();
    const auto place = places.back();
    const auto count = places.size();
    if (!layout.tails.contains(place)) add_unwritten(layout, place, places);
    if (places.size() > count) continue;
    places.pop_back();
    if (!layout.tails.contains(place)) write_tail(layout, place);
  }
}

void schema_writer::write_tail(members& layout, const member_place& place) {
  auto& name = layout.tails[place];
  const auto expression = members_at(layout, place);
  if (expression) rules_.add(*(name = rules_.new_name("members")), *expression);
}

}  // namespace cogen::grammar
