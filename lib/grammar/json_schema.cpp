#include "grammar/json_schema.hpp"

#include "grammar/counted_repetition.hpp"
#include "grammar/grammar_error.hpp"
#include "grammar/regex_ebnf.hpp"
#include "grammar/schema_cases.hpp"
#include "grammar/schema_loosening.hpp"
#include "json/printable.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

constexpr int max_nested_schemas = 200;
constexpr std::uint64_t max_items = 100'000;

const std::string comma = R"(ws "," ws)";

/// A space, or line breaks with an indentation: a model that likes white space comes to an end of it.
constexpr const char* bounded_space = "[ \\t]?(?:\\r?\\n(?:\\r?\\n)?[ \\t]{0,32})?";

std::string optional(const std::string& part) { return "(" + part + ")?"; }

class schema_writer {
 public:
  schema_writer(json::value schema, rule_list& rules, const schema_limits& limits)
      : document_(std::move(schema)),
        budget_(limits.schemas),
        cases_(document_, budget_),
        limits_(limits),
        rules_(rules) {}

  std::string run() {
    const schema_set whole = {&document_.root()};
    if (cases_.is_empty(whole)) throw grammar_error("the JSON schema allows no value");
    return rule_of(whole);
  }

 private:
  std::string rule_of(schema_set schemas) {
    std::erase_if(schemas, [](const json::value* each) { return *each == true; });
    if (schemas.empty()) return "value";
    const auto [known, is_new] = names_.try_emplace(schemas);
    if (!is_new) return known->second;
    if (++depth_ > max_nested_schemas) throw schema_size_error("JSON schema: it nests more than 200 schemas");
    const auto name = known->second = rules_.new_name("schema");
    write(name, schemas);
    --depth_;
    return name;
  }

  void write(const std::string& name, const schema_set& schemas) {
    std::vector<std::string> parts;
    for (const auto& each : cases_.expand(schemas)) write_case(each, parts);
    if (parts.empty()) throw grammar_error("JSON schema: a part of it allows no value");
    rules_.add(name, alternatives(parts));
    if (rules_.size() > limits_.bytes)
      throw schema_size_error("JSON schema: its grammar exceeds the limit of " + std::to_string(limits_.bytes) +
                              " bytes");
  }

  static void add(std::vector<std::string>& parts, std::optional<std::string> part) {
    if (part && std::ranges::find(parts, *part) == parts.end()) parts.push_back(std::move(*part));
  }

  void write_case(const schema_case& applied, std::vector<std::string>& parts) {
    if (const auto values = cases_.values_of(applied)) {
      for (const auto& each : *values) add(parts, ebnf_of_value(each));
      return;
    }
    if (cases_.allows(applied, value_type::null)) add(parts, literal("null"));
    if (cases_.allows(applied, value_type::boolean))
      for (const bool value : {true, false})
        if (cases_.allows(applied, value)) add(parts, literal(value ? "true" : "false"));
    if (cases_.allows(applied, value_type::number)) add(parts, number(applied));
    if (cases_.allows(applied, value_type::string)) add(parts, string(applied));
    if (cases_.allows(applied, value_type::array)) add(parts, array(applied));
    if (cases_.allows(applied, value_type::object)) add(parts, object(applied));
  }

  std::string ebnf_of_value(const json::value& value) {
    if (value.is_string()) return literal(json_spelling(std::string_view(value.get_string())));
    if (value.is_number()) return literal(number_text(value));
    if (value.is_null()) return literal("null");
    if (value.is_bool()) return literal(value.get_bool() ? "true" : "false");
    std::vector<std::string> parts;
    if (value.is_array()) {
      for (const auto& each : value.get_array()) parts.push_back(ebnf_of_value(each));
      return enclosed("[", parts, "]");
    }
    for (const auto& each : value.get_object()) parts.push_back(property(each.key(), ebnf_of_value(each.value())));
    return enclosed("{", parts, "}");
  }

  static std::string enclosed(const char* open, const std::vector<std::string>& parts, const char* close) {
    std::vector<std::string> all = {literal(open), "ws"};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) all.push_back(comma);
      all.push_back(parts[i]);
    }
    if (!parts.empty()) all.emplace_back("ws");
    all.push_back(literal(close));
    return sequence(all);
  }

  static std::string property(std::string_view name, const std::string& value) {
    return sequence({literal(json_spelling(name)), R"(ws ":" ws)", value});
  }

  std::optional<std::string> number(const schema_case& applied) {
    const auto range = cases_.numbers_of(applied);
    const auto factors = cases_.factors_of(applied);
    if (factors.empty() && range.unlimited()) return range.integer ? "integer" : "number";
    if (factors.empty()) return regular(numbers(range));
    if (factors.size() > 1)
      cases_.refuse(applied, {"multipleOf"}, "several multipleOf are not supported for one number");
    if (range.unlimited())
      return kept(applied, {"multipleOf"}, [&] { return multiples_of(factors.front(), range.integer, rules_); });
    return listed_multiples(applied, range, factors.front());
  }

  std::optional<std::string> listed_multiples(const schema_case& applied, const number_range& range,
                                              const decimal& factor) {
    const auto refuse = [&] {
      cases_.refuse(applied, {"multipleOf"},
                    "multipleOf beside minimum or maximum is supported for up to 1000 integers");
    };
    if (!range.least || !range.most || !factor.fraction.empty()) refuse();
    const auto value_of = [](const decimal& number) { return std::stold(number.text()); };
    const auto first = value_of(range.least->value), last = value_of(range.most->value), step = value_of(factor);
    if (first < -1e15L || last > 1e15L || (last - first) / step > 1000) refuse();
    std::vector<std::string> parts;
    for (auto at = std::ceil(first / step); at * step <= last; ++at) {
      const auto value = static_cast<std::int64_t>(at * step);
      const auto as_decimal = *decimal::parse(std::to_string(value));
      if (range.least->excluded && as_decimal == range.least->value) continue;
      if (range.most->excluded && as_decimal == range.most->value) continue;
      parts.push_back(literal(std::to_string(value)));
    }
    if (parts.empty()) return std::nullopt;
    return alternatives(parts);
  }

  std::optional<std::string> string(const schema_case& applied) {
    return kept(applied, {"pattern", "format", "maxLength", "minLength", "not"},
                [&] { return string(cases_.strings_of(applied)); });
  }

  std::optional<std::string> string(const string_rules& strings) {
    if (strings.unlimited()) return "string";
    return regular(strings_in_json(strings));
  }

  /// What `write` writes for a case; what it cannot keep is one of these keywords.
  template <typename Write>
  std::optional<std::string> kept(const schema_case& applied, std::initializer_list<const char*> keywords,
                                  const Write& write) {
    try {
      return write();
    } catch (const keyword_error&) {
      throw;
    } catch (const grammar_error& error) {
      cases_.refuse(applied, keywords, error.what());
    }
  }

  /// A rule of its own, which the backend compiles once for all schemas that have it.
  std::optional<std::string> regular(const std::optional<regex_node>& texts) {
    if (!texts) return std::nullopt;
    const auto [known, is_new] = regular_.try_emplace(syntax_of(*texts));
    if (is_new) {
      const auto expression = ebnf_of(*texts, rules_);
      rules_.add(known->second = rules_.new_name("regular"), expression);
    }
    return known->second;
  }

  std::optional<std::string> array(const schema_case& applied) {
    auto count = cases_.count_of(applied, "minItems", "maxItems");
    const auto prefix = cases_.prefix_of(applied);
    check_array(applied, count);
    for (std::size_t i = 0; i <= prefix && i < count.most; ++i)
      if (cases_.is_empty(cases_.item_of(applied, i))) count.most = i;
    if (count.least > count.most) return std::nullopt;
    if (count.most == 0) return sequence({literal("["), "ws", literal("]")});
    if (count.least > max_items || (count.most != repetition::unlimited && count.most > max_items))
      cases_.refuse(applied, {"maxItems", "minItems"},
                    "minItems and maxItems are supported up to " + std::to_string(max_items) + " items");
    return sequence({literal("["), "ws", items(applied, 0, prefix, count), literal("]")});
  }

  void check_array(const schema_case& applied, repetition count) {
    for (const auto& [schema, parent, evaluates] : applied) {
      const auto* unique = member(*schema, "uniqueItems");
      if (unique && unique->get_bool() && count.most > 1)
        document_.refuse(*schema, "uniqueItems", "the keyword \"uniqueItems\" is not supported for more than one item");
      const auto* least = member(*schema, "minContains");
      const bool asks_nothing = least && number_of(*least) == 0 && !member(*schema, "maxContains");
      if (member(*schema, "contains") && !asks_nothing)
        document_.refuse(*schema, "contains", "the keyword \"contains\" is not supported");
    }
  }

  /// What comes after the first `done` items: nothing, if they are enough, or another one.
  std::string items(const schema_case& applied, std::size_t done, std::size_t prefix, repetition count) {
    if (done == count.most) return literal("");
    const auto item = sequence({rule_of(cases_.item_of(applied, done)), "ws"});
    const auto separator = std::string(R"("," ws)");
    if (done < prefix) {
      const auto rest = rules_.new_name("items");
      rules_.add(rest, items(applied, done + 1, prefix, count));
      const auto all = done == 0 ? sequence({item, rest}) : sequence({separator, item, rest});
      return done >= count.least ? optional(all) : all;
    }
    const auto least = less(count.least, done), most = less(count.most, done);
    if (done > 0) return counted(sequence({separator, item}), {least, most}, rules_);
    const auto all = sequence({item, counted(sequence({separator, item}), {less(least, 1), less(most, 1)}, rules_)});
    return least == 0 ? optional(all) : all;
  }

  static std::uint64_t less(std::uint64_t from, std::uint64_t taken) {
    if (from == repetition::unlimited) return from;
    return from > taken ? from - taken : 0;
  }

  struct listed_property {
    std::string name;
    schema_set schemas;
    bool required = false;
  };

  /// An object's members: those that are listed, in order, and what others look like; none if there may be none.
  struct members {
    std::vector<listed_property> listed = {};
    std::optional<std::string> other = {};
    repetition count = {};
    std::uint64_t required = 0;
    std::map<std::pair<std::size_t, bool>, std::optional<std::string>> tails = {};  // by what comes before
  };

  std::optional<std::string> object(const schema_case& applied) {
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

  bool is_any_object(const schema_case& applied) {
    static constexpr const char* keywords[] = {
        "properties",    "required",      "patternProperties", "additionalProperties",
        "propertyNames", "minProperties", "maxProperties",     "unevaluatedProperties"};
    return std::ranges::none_of(applied, [](const applied_schema& each) {
      return std::ranges::any_of(keywords, [&](const char* keyword) { return member(*each.schema, keyword); });
    });
  }

  /// Says whether all that is required is allowed.
  bool list_properties(const schema_case& applied, members& all, std::vector<std::string>& excluded) {
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

  static std::vector<std::string> names_of(const schema_case& applied) {
    std::vector<std::string> names;
    for (const auto& each : applied)
      if (const auto* properties = member(*each.schema, "properties"))
        for (const auto& one : properties->get_object())
          if (std::ranges::find(names, std::string_view(one.key())) == names.end()) names.emplace_back(one.key());
    return names;
  }

  std::optional<std::string> other_members(const schema_case& applied, const std::vector<std::string>& excluded,
                                           bool is_open) {
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

  std::optional<std::string> key(const schema_case& applied, const string_rules& rules) {
    return kept(applied, {"propertyNames", "patternProperties", "additionalProperties"}, [&] { return string(rules); });
  }

  /// Other properties than the listed ones come only where a schema speaks of them.
  static bool says_what_others_are(const schema_case& applied) {
    return std::ranges::any_of(applied, [](const applied_schema& each) {
      return member(*each.schema, "additionalProperties") || member(*each.schema, "unevaluatedProperties");
    });
  }

  /// What `propertyNames` says; none if it allows no name.
  std::optional<string_rules> key_rules(const schema_case& applied) {
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

  /// Settles how many members there may be. Says whether there may be enough.
  bool limit_count(const schema_case& applied, members& all) {
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

  /// What follows the properties before number `next`, `some` of which are there; none if nothing may follow.
  std::optional<std::string> members_after(members& all, std::size_t next, bool some) {
    if (next == all.listed.size()) return other_members_after(all, some);
    const auto& each = all.listed[next];
    const auto one = sequence({property(each.name, rule_of(each.schemas)), "ws"});
    std::vector<std::string> parts;
    add(parts, sequence({some ? sequence({R"("," ws)", one}) : one, *tail(all, next + 1, true)}));
    if (!each.required) add(parts, tail(all, next + 1, some));
    return alternatives(parts);
  }

  /// The same as a rule, which is written once.
  std::optional<std::string> tail(members& all, std::size_t next, bool some) {
    const auto [known, is_new] = all.tails.try_emplace({next, some});
    if (!is_new) return known->second;
    const auto expression = members_after(all, next, some);
    if (!expression) return std::nullopt;
    const auto name = rules_.new_name("members");
    rules_.add(name, *expression);
    return all.tails[{next, some}] = name;
  }

  std::optional<std::string> other_members_after(const members& all, bool some) {
    const auto most = all.other ? less(all.count.most, all.listed.size()) : 0;
    const bool needs_one = !some && all.count.least > 0;
    if (most == 0) return needs_one ? std::nullopt : std::optional(literal(""));
    const auto next = sequence({R"("," ws)", *all.other});
    if (some) return counted(next, {0, most}, rules_);
    const auto others = sequence({*all.other, counted(next, {0, less(most, 1)}, rules_)});
    return needs_one ? others : optional(others);
  }

  schema_document document_;
  schema_budget budget_;
  schema_cases cases_;
  schema_limits limits_;
  rule_list& rules_;
  std::map<schema_set, std::string> names_;
  std::map<std::string, std::string> regular_;  // names of rules, by what they are
  int depth_ = 0;
};

}  // namespace

namespace {

constexpr int max_loosened_keywords = 64;

/// Takes out what cannot be kept, one keyword after the other, until the rest can.
schema_rule add_loosened(json::value schema, rule_list& rules, const schema_limits& limits) {
  schema_rule added;
  const auto before = rules;
  for (int tries = 0;; ++tries) {
    std::vector<loosened_keyword> loosened;
    try {
      added.name = schema_writer(schema, rules, limits).run();
      return added;
    } catch (const keyword_error& error) {
      if (tries < max_loosened_keywords) loosened = loosen(schema, error.keyword);
      if (loosened.empty()) loosened = loosen_all(schema);
      if (loosened.empty()) throw;
    } catch (const schema_size_error&) {
      loosened = loosen_all(schema);
      if (loosened.empty()) throw;
    }
    rules = before;
    added.loosened.insert(added.loosened.end(), loosened.begin(), loosened.end());
  }
}

}  // namespace

schema_grammar ebnf_of_json_schema(std::string_view schema, const schema_limits& limits, schema_mode mode) {
  rule_list rules;
  auto added = add_json_schema(schema, rules, limits, mode);
  rules.add("root", added.name);
  add_json_rules(rules);
  return {rules.text(), std::move(added.loosened)};
}

schema_rule add_json_schema(std::string_view text, rule_list& rules, const schema_limits& limits, schema_mode mode) {
  auto schema = parse_schema(text);
  if (mode == schema_mode::loosened) return add_loosened(std::move(schema), rules, limits);
  return {schema_writer(std::move(schema), rules, limits).run(), {}};
}

void add_json_rules(rule_list& rules, std::string_view space) {
  rules.add("ws", space.empty() ? ebnf_of(parse_regex(bounded_space, regex_match::whole), rules) : std::string(space));
  rules.add("value", "object | array | string | number | \"true\" | \"false\" | \"null\"");
  rules.add("object", R"("{" ws (member ("," ws member)*)? "}")");
  rules.add("member", R"(string ws ":" ws value ws)");
  rules.add("array", R"("[" ws (value ws ("," ws value ws)*)? "]")");
  const auto add = [&](const char* name, const char* pattern) {
    rules.add(name, ebnf_of(parse_regex(pattern, regex_match::whole), rules));
  };
  rules.add("string", ebnf_of(*strings_in_json({}), rules));
  add("integer", "-?(?:0|[1-9][0-9]*)");
  add("number", "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?");
}

}  // namespace cogen::grammar
