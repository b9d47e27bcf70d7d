// The members of objects.
#include "grammar/counted_repetition.hpp"
#include "grammar/schema_writer.hpp"
#include "json/printable.hpp"

#include <algorithm>

namespace cogen::grammar {

namespace json = boost::json;

std::optional<std::string> schema_writer::object(const schema_case& applied) {
  if (is_any_object(applied)) return "object";
  members all{.count = cases_.count_of(applied, "minProperties", "maxProperties")};
  std::vector<std::string> excluded;
  if (!list_properties(applied, all, excluded)) return std::nullopt;
  for (const auto& each : all.listed) excluded.push_back(each.name);
  all.other = other_members(applied, excluded, all.listed.empty() || says_what_others_are(applied));
  if (!limit_count(applied, all)) return std::nullopt;
  const auto content = members_after(all, 0, false);
  if (!content) return std::nullopt;
  return sequence({literal("{"), "ws", *content, literal("}")});
}

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
  auto names = names_of(applied);
  for (const auto& name : required)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  for (auto& name : names) {
    auto schemas = cases_.property_of(applied, name);
    const bool needed = std::ranges::find(required, name) != required.end();
    if (!cases_.is_empty(schemas)) {
      all.listed.push_back({std::move(name), std::move(schemas), needed});
    } else if (needed) {
      return false;
    } else {
      excluded.push_back(std::move(name));
    }
  }
  all.required = required.size();
  return true;
}

std::vector<std::string> schema_writer::names_of(const schema_case& applied) {
  std::vector<std::string> names;
  for (const auto& each : applied)
    if (const auto* properties = member(*each.schema, "properties"))
      for (const auto& one : properties->get_object())
        if (std::ranges::find(names, std::string_view(one.key())) == names.end()) names.emplace_back(one.key());
  return names;
}

std::optional<std::string> schema_writer::other_members(const schema_case& applied,
                                                        const std::vector<std::string>& excluded, bool is_open) {
  const auto patterns = cases_.patterns_of(applied);
  std::vector<std::string> parts;
  const auto add_members = [&](const std::optional<std::string>& key, const schema_set& schemas) {
    if (key && !cases_.is_empty(schemas)) parts.push_back(sequence({*key, R"(ws ":" ws)", rule_of(schemas), "ws"}));
  };
  if (patterns.empty() && is_open && !cases_.is_empty(cases_.other_property_of(applied, std::nullopt))) {
    auto keys = key_rules(applied);
    if (!keys) return std::nullopt;
    keys->excluded.insert(keys->excluded.end(), excluded.begin(), excluded.end());
    add_members(key(applied, *keys), cases_.other_property_of(applied, std::nullopt));
  }
  for (const auto& pattern : patterns) {
    auto keys = key_rules(applied);
    if (!keys) return std::nullopt;
    keys->patterns.emplace("the pattern " + cogen::json::in_quotes(pattern), cases_.pattern_of(applied, pattern));
    add_members(key(applied, *keys), cases_.other_property_of(applied, pattern));
  }
  if (parts.empty()) return std::nullopt;
  const auto name = rules_.new_name("member");
  rules_.add(name, alternatives(parts));
  return name;
}

std::optional<std::string> schema_writer::key(const schema_case& applied, const string_rules& rules) {
  return kept(applied, {"propertyNames", "patternProperties", "additionalProperties"}, [&] { return string(rules); });
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
  if (cases.empty()) return std::nullopt;
  if (cases.size() > 1 || cases_.values_of(cases.front()))
    cases_.refuse(applied, {"propertyNames"}, "propertyNames with a choice of names is not supported");
  if (!cases_.allows(cases.front(), value_type::string)) return std::nullopt;
  return cases_.strings_of(cases.front());
}

bool schema_writer::limit_count(const schema_case& applied, members& all) {
  const auto listed = all.listed.size();
  if (all.count.least > all.count.most || all.required > all.count.most) return false;
  if (!all.other && all.count.least > listed) return false;
  if (all.count.least > std::max<std::uint64_t>(all.required, 1) && !(all.count.least == listed && !all.other))
    cases_.refuse(applied, {"minProperties"},
                  "minProperties above 1 is supported only up to the number of required properties");
  if (all.count.least == listed)
    for (auto& each : all.listed) each.required = true;
  if (all.count.most >= listed) return true;
  if (all.count.most > all.required)
    cases_.refuse(applied, {"maxProperties"},
                  "maxProperties is not supported between the numbers of required and of listed properties");
  std::erase_if(all.listed, [](const listed_property& each) { return !each.required; });
  return true;
}

std::optional<std::string> schema_writer::members_after(members& all, std::size_t next, bool some) {
  if (next == all.listed.size()) return other_members_after(all, some);
  const auto& each = all.listed[next];
  const auto one = sequence({property(each.name, rule_of(each.schemas)), "ws"});
  std::vector<std::string> parts;
  const auto after = [&](const std::string& part) { return some ? sequence({R"("," ws)", part}) : part; };
  if (const auto rest = tail(all, next + 1, true)) add(parts, sequence({after(one), *rest}));
  if (all.others_come_anywhere()) add(parts, sequence({after(*all.other), *tail(all, next, true)}));
  if (!each.required) add(parts, tail(all, next + 1, some));
  return alternatives(parts);
}

std::optional<std::string> schema_writer::tail(members& all, std::size_t next, bool some) {
  const auto [known, is_new] = all.tails.try_emplace({next, some});
  if (!is_new) return known->second;
  const auto name = rules_.new_name("members");
  if (all.others_come_anywhere()) all.tails[{next, some}] = name;  // it may lead to itself
  const auto expression = members_after(all, next, some);
  if (!expression) return std::nullopt;
  rules_.add(name, *expression);
  return all.tails[{next, some}] = name;
}

std::optional<std::string> schema_writer::other_members_after(const members& all, bool some) {
  const auto most = all.other ? less(all.count.most, all.listed.size()) : 0;
  const bool needs_one = !some && all.count.least > 0;
  if (most == 0) return needs_one ? std::nullopt : std::optional(literal(""));
  const auto next = sequence({R"("," ws)", *all.other});
  if (some) return counted(next, {0, most}, rules_);
  const auto others = sequence({*all.other, counted(next, {0, less(most, 1)}, rules_)});
  return needs_one ? others : optional(others);
}

}  // namespace cogen::grammar
