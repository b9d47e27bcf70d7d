// The members of objects.
#include "grammar/counted_repetition.hpp"
#include "grammar/schema_writer.hpp"
#include "json/printable.hpp"

#include <algorithm>

namespace cogen::grammar {

namespace json = boost::json;

std::uint64_t schema_writer::members::required_from(std::size_t next) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(listed.begin() + static_cast<std::ptrdiff_t>(next),
                                                          listed.end(), &listed_property::required));
}

std::optional<std::string> schema_writer::object(const schema_case& applied) {
  if (is_any_object(applied)) return "object";
  members all{.count = cases_.count_of(applied, "minProperties", "maxProperties")};
  std::vector<std::string> excluded;
  if (!list_properties(applied, all, excluded)) return std::nullopt;
  for (const auto& each : all.listed) excluded.push_back(each.name);
  all.other = other_members(applied, excluded, all.listed.empty() || says_what_others_are(applied));
  all.others_may_be_listed = !cases_.patterns_of(applied).empty();
  if (!limit_count(applied, all)) return std::nullopt;
  const auto content = members_after(all, 0, 0);
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

namespace {

constexpr std::uint64_t max_counts = 5000;

/// Names that others must differ from take a state for each character.
constexpr std::size_t max_excluded_characters = 600;

bool are_too_many(const std::vector<std::string>& excluded) {
  std::size_t characters = 0;
  for (const auto& each : excluded) characters += each.size();
  return characters > max_excluded_characters;
}

}  // namespace

std::optional<std::string> schema_writer::other_members(const schema_case& applied,
                                                        const std::vector<std::string>& excluded, bool is_open) {
  const auto patterns = cases_.patterns_of(applied);
  std::vector<std::string> parts;
  const auto add_members = [&](const std::optional<std::string>& key, const schema_set& schemas) {
    if (key && !cases_.is_empty(schemas)) parts.push_back(sequence({*key, R"(ws ":" ws)", rule_of(schemas), "ws"}));
  };
  if (patterns.empty() && is_open && !are_too_many(excluded) &&
      !cases_.is_empty(cases_.other_property_of(applied, std::nullopt))) {
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
  if (all.count.least > listed + 1)  // the same other one could come twice
    cases_.refuse(applied, {"minProperties"},
                  "minProperties is supported up to one more than there are listed properties");
  all.counted = all.count.most < listed ? all.count.most : std::max<std::uint64_t>(all.count.least, 1);
  if (listed * all.counted > max_counts)
    cases_.refuse(applied, {"maxProperties", "minProperties"},
                  "minProperties and maxProperties are supported for up to " + std::to_string(max_counts) +
                      " counts at listed properties");
  return true;
}

std::optional<std::string> schema_writer::members_after(members& all, std::size_t next, std::uint64_t done) {
  if (all.required_from(next) > less(all.count.most, done)) return std::nullopt;
  if (next == all.listed.size()) return other_members_after(all, done);
  const auto& each = all.listed[next];
  std::vector<std::string> parts;
  const auto go_on = [&](const std::string& part, std::size_t from) {
    if (const auto rest = tail(all, from, std::min(done + 1, all.counted)))
      add(parts, sequence({done > 0 ? sequence({R"("," ws)", part}) : part, *rest}));
  };
  if (done < all.count.most) go_on(sequence({property(each.name, rule_of(each.schemas)), "ws"}), next + 1);
  if (all.others_come_anywhere()) go_on(*all.other, next);
  if (!each.required) add(parts, tail(all, next + 1, done));
  if (parts.empty()) return std::nullopt;
  return alternatives(parts);
}

std::optional<std::string> schema_writer::tail(members& all, std::size_t next, std::uint64_t done) {
  const auto [known, is_new] = all.tails.try_emplace({next, done});
  if (!is_new) return known->second;
  const auto name = rules_.new_name("members");
  if (all.others_come_anywhere()) all.tails[{next, done}] = name;  // it may lead to itself
  const auto expression = members_after(all, next, done);
  if (!expression) return std::nullopt;
  rules_.add(name, *expression);
  return all.tails[{next, done}] = name;
}

std::optional<std::string> schema_writer::other_members_after(const members& all, std::uint64_t done) {
  const auto listed = all.listed.size();
  const auto most = all.other ? less(all.count.most, all.count.most < listed ? done : listed) : 0;
  const auto needed = less(all.count.least, done);
  if (needed > std::min<std::uint64_t>(most, 1)) return std::nullopt;
  if (needed > 0 && done > 0 && all.others_may_be_listed) return std::nullopt;
  if (most == 0) return literal("");
  const auto next = sequence({R"("," ws)", *all.other});
  if (done > 0) return counted(next, {needed, most}, rules_);
  const auto others = sequence({*all.other, counted(next, {0, less(most, 1)}, rules_)});
  return needed > 0 ? others : optional(others);
}

}  // namespace cogen::grammar
