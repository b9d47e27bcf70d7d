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
  members all{.count = cases_.count_of(applied, "minProperties", "maxProperties")};
  std::vector<std::string> excluded;
  if (!list_properties(applied, all, excluded)) return std::nullopt;
  add_others(applied, all, excluded);
  if (!limit_count(applied, all)) return std::nullopt;
  write_tails(all);
  const auto content = members_at(all, {});
  if (!content) return std::nullopt;
  if (!all.are_distinct) return sequence({literal("{"), "ws", *content, literal("}")});
  distinct_rule names{.endless = all.others_are_endless,
                      .listed = !all.other,
                      .behind = all.behind.has_value(),
                      .required = all.required.size()};
  for (const auto* each : {&all.required, &all.optional})
    for (const auto& one : *each) names.names.push_back(spelled_name(one.name));
  return sequence({rules_.add_bracket('{', std::move(names)), "ws", *content, literal("}")});
}

namespace {

constexpr std::size_t max_told_apart = 3;

/// Whether a pattern matches a name that the rules allow.
bool may_match(const string_rules& rules, const regex_node& pattern) {
  std::vector<regex_node> all = {pattern};
  for (const auto& [text, each] : rules.patterns) all.push_back(each);
  return all.size() == 1 || intersection(all, {}).has_value();
}

/// All subsets of a few; of more of them, each by itself.
std::vector<std::set<std::string>> groups_of(const std::set<std::string>& patterns) {
  std::vector<std::set<std::string>> groups = {{}};
  for (const auto& pattern : patterns)
    for (std::size_t i = 0, before = patterns.size() > max_told_apart ? 1 : groups.size(); i < before; ++i) {
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
  return std::ranges::none_of(applied, [](const applied_schema& each) {
    return std::ranges::any_of(keywords, [&](const char* keyword) { return member(*each.schema, keyword); });
  });
}

bool schema_writer::list_properties(const schema_case& applied, members& all, std::vector<std::string>& excluded) {
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
    if (!is_empty) (needed ? all.required : all.optional).push_back({std::move(name), std::move(schemas)});
  }
  return true;
}

std::vector<std::string> schema_writer::names_of(const schema_case& applied) {
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const auto& each : applied)
    if (const auto* properties = member(*each.schema, "properties"))
      for (const auto& one : properties->get_object())
        if (known.insert(one.key()).second) names.emplace_back(one.key());
  return names;
}

/// Names that no pattern matches, and those that some patterns match and others do not.
void schema_writer::add_others(const schema_case& applied, members& all, const std::vector<std::string>& excluded) {
  const auto patterns = cases_.patterns_of(applied);
  const auto rules = key_rules(applied);
  const bool is_open = all.listed() == 0 || says_what_others_are(applied);
  std::vector<std::string> parts;
  if (!rules) return;
  for (const auto& some : groups_of(patterns)) {
    if (some.empty() && !is_open) continue;
    auto part = other_member(applied, *rules, some, excluded);
    if (!part) continue;
    parts.push_back(std::move(*part));
    all.others_are_endless = some.empty() && patterns.empty() && rules->unlimited();
  }
  if (!is_open && unnamed_ == unnamed_properties::behind && patterns.empty() && rules->unlimited() &&
      all.count == repetition{})
    if (const auto part = other_member(applied, *rules, {}, excluded))
      rules_.add(*(all.behind = rules_.new_name("member")), *part);
  if (parts.empty()) return;
  all.other = rules_.new_name("member");
  rules_.add(*all.other, alternatives(parts));
}

/// Where it takes too much to say that the name matches no other pattern, the value is valid by all of them.
std::optional<std::string> schema_writer::other_member(const schema_case& applied, const string_rules& rules,
                                                       const std::set<std::string>& wanted,
                                                       const std::vector<std::string>& excluded) {
  auto name = rules;
  for (const auto& pattern : wanted)
    name.patterns.emplace("the pattern " + cogen::json::in_quotes(pattern), cases_.pattern_of(applied, pattern));
  for (const auto& each : excluded)
    if (std::ranges::all_of(name.patterns, [&](const auto& one) { return matches(one.second, each); }))
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
  return std::ranges::any_of(applied, [](const applied_schema& each) {
    return member(*each.schema, "additionalProperties") || member(*each.schema, "unevaluatedProperties");
  });
}

std::optional<string_rules> schema_writer::key_rules(const schema_case& applied) {
  schema_set names;
  for (const auto& each : applied)
    if (const auto* one = member(*each.schema, "propertyNames")) names.insert(one);
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

bool schema_writer::limit_count(const schema_case& applied, members& all) {
  const auto& [least, most] = all.count;
  const auto listed = all.listed();
  if (least > most || all.required.size() > most) return false;
  if (!all.other && least > listed) return false;
  if (all.required.size() > max_required)
    cases_.refuse(applied, {"required"},
                  std::to_string(all.required.size()) + " required properties exceed the limit of " +
                      std::to_string(max_required));
  if (least > listed + 1 && !all.others_are_endless)
    cases_.refuse(
        applied, {"minProperties"},
        "minProperties above the number of listed properties is supported where the names of others are free");
  const bool is_limited = most < listed || (all.other && most != repetition::unlimited);
  all.counted = is_limited ? most : std::max<std::uint64_t>(least, 1);
  const auto places = (all.required.size() + 1) << std::min(all.optional.size(), max_written_apart + 1);
  all.are_distinct = all.optional.size() > max_written_apart || (!all.optional.empty() && places > max_places_apart) ||
                     (all.other && (least > 1 || is_limited));
  if ((all.required.size() + 1) * all.counted > max_counts)
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

std::string schema_writer::any_optional_of(members& all) {
  if (all.any_optional.empty()) {
    std::vector<std::string> parts;
    for (auto& each : all.optional) parts.push_back(member_of(each));
    rules_.add(all.any_optional = rules_.new_name("optional"), alternatives(parts));
  }
  return all.any_optional;
}

std::vector<schema_writer::member_step> schema_writer::steps_at(members& all, const member_place& at) {
  const auto& [done, required, written] = at;
  const auto left = less(all.count.most, done);
  std::vector<member_step> steps;
  if (left == 0 || all.required.size() - required > left) return steps;
  const auto go_on = [&](const std::string& part, std::size_t next_required, std::uint32_t next_written) {
    const member_place next{std::min(done + 1, all.counted), next_required, next_written};
    steps.push_back({done > 0 ? sequence({R"("," ws)", part}) : part, next});
  };
  if (all.are_distinct && !all.optional.empty()) {
    go_on(any_optional_of(all), required, written);
  } else {
    for (std::size_t i = 0; i < all.optional.size(); ++i)
      if ((written >> i & 1) == 0) go_on(member_of(all.optional[i]), required, written | std::uint32_t{1} << i);
  }
  if (all.other) go_on(*all.other, required, written);
  if (required < all.required.size()) go_on(member_of(all.required[required]), required + 1, written);
  return steps;
}

std::optional<std::string> schema_writer::members_at(members& all, const member_place& at) {
  if (all.required.size() - at.required > less(all.count.most, at.done)) return std::nullopt;
  std::vector<std::string> again, further;
  for (const auto& [part, next] : steps_at(all, at)) {
    if (next == at)
      again.push_back(part);
    else if (const auto& rest = all.tails.at(next))
      add(further, sequence({part, *rest}));
  }
  if (at.required == all.required.size() && at.done >= all.count.least) further.push_back(members_behind(all, at.done));
  if (further.empty()) return std::nullopt;
  if (again.empty()) return alternatives(further);
  return sequence({repeated(alternatives(again), {}), alternatives(further)});
}

std::string schema_writer::members_behind(const members& all, std::uint64_t done) {
  if (!all.behind) return literal("");
  const auto more = repeated(sequence({R"("," ws)", *all.behind}), {});
  return done > 0 ? more : optional(sequence({*all.behind, more}));
}

void schema_writer::add_unwritten(members& all, const member_place& at, std::vector<member_place>& places) {
  auto steps = steps_at(all, at);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (step->next != at && !all.tails.contains(step->next)) places.push_back(step->next);
}

/// From the last place to the first one: there may be thousands, one behind the other.
void schema_writer::write_tails(members& all) {
  std::vector<member_place> places;
  add_unwritten(all, {}, places);
  while (!places.empty()) {
    count_step();
    const auto at = places.back();
    const auto before = places.size();
    if (!all.tails.contains(at)) add_unwritten(all, at, places);
    if (places.size() > before) continue;
    places.pop_back();
    if (!all.tails.contains(at)) write_tail(all, at);
  }
}

void schema_writer::write_tail(members& all, const member_place& at) {
  auto& name = all.tails[at];
  const auto expression = members_at(all, at);
  if (expression) rules_.add(*(name = rules_.new_name("members")), *expression);
}

}  // namespace cogen::grammar
