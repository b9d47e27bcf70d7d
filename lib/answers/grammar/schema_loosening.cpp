#include "answers/grammar/schema_loosening.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/schema_keywords.hpp"
#include "answers/grammar/schema_references.hpp"
#include "answers/grammar/steps.hpp"
#include "formats/json/member.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::grammar {
namespace {

namespace json = boost::json;
using cogen::json::member;

class loosening {
 public:
  explicit loosening(json::value& root) : root_(root) {}

  std::vector<loosened_keyword> run(const loosened_keyword& keyword) {
    json::error_code error;
    auto* schema = root_.find_pointer(std::string_view(keyword.path).substr(1), error);
    if (!schema || !schema->is_object()) return {};
    std::vector<std::pair<std::string, std::string>> negations;
    find_negations(root_, "", around(*schema), negations);
    for (auto negation = negations.rbegin(); negation != negations.rend(); ++negation)  // those inside others first
      weaken(*root_.find_pointer(negation->first, error), "#" + negation->first, negation->second);
    if (loosened_.empty()) take_with_rests(*schema, keyword);
    return std::move(loosened_);
  }

 private:
  /// A schema that accepts more where this keyword is, would accept less around it.
  static bool is_negating(const json::value& schema, std::string_view keyword) {
    if (keyword == "contains") return member(schema, "maxContains") != nullptr;
    return keyword == "not" || keyword == "if" || keyword == "oneOf";
  }

  /// The schemas that hold the target, or refer to one that does, and the target.
  std::set<const json::value*> around(const json::value& target) const {
    std::map<const json::value*, std::vector<const json::value*>> users;
    std::vector<const json::value*> left = {&root_};
    std::set<const json::value*> seen;
    const auto use = [&](const json::value& used, const json::value& user) {
      users[&used].push_back(&user);
      left.push_back(&used);
    };
    while (const auto* schema = next_of(left, seen)) {
      for_each_subschema(*schema,
                         [&](const json::value& inner, const std::string&, std::string_view) { use(inner, *schema); });
      if (const auto* named = named_by(*schema)) use(*named, *schema);
    }
    left = {&target};
    seen.clear();
    while (const auto* schema = next_of(left, seen))
      left.insert(left.end(), users[schema].begin(), users[schema].end());
    return seen;
  }

  /// One that was not seen yet; null if none is left.
  static const json::value* next_of(std::vector<const json::value*>& left, std::set<const json::value*>& seen) {
    while (!left.empty()) {
      count_step();
      const auto* schema = left.back();
      left.pop_back();
      if (seen.insert(schema).second) return schema;
    }
    return nullptr;
  }

  const json::value* named_by(const json::value& schema) const {
    const auto* reference = member(schema, "$ref");
    if (!reference || !reference->is_string() || !reference->get_string().starts_with('#')) return nullptr;
    json::error_code error;
    return root_.find_pointer(std::string_view(reference->get_string()).substr(1), error);
  }

  /// The keywords, with the places of their schemas, below which there is one of those.
  void find_negations(const json::value& schema, const std::string& path, const std::set<const json::value*>& wanted,
                      std::vector<std::pair<std::string, std::string>>& found) const {
    std::set<std::string> negating;
    for_each_subschema(schema, [&](const json::value& subschema, const std::string&, std::string_view keyword) {
      if (is_negating(schema, keyword) && wanted.contains(&subschema)) negating.emplace(keyword);
    });
    for (const auto& keyword : negating) found.emplace_back(path, keyword);
    for_each_subschema(schema, [&](const json::value& subschema, const std::string& below, std::string_view) {
      count_steps(1 + path.size() / 16);
      find_negations(subschema, path + below, wanted, found);
    });
  }

  void weaken(json::value& schema, const std::string& path, const std::string& keyword) {
    auto& members = schema.get_object();
    if (keyword == "oneOf") {  // at least one of them is left to ask for
      json::value any = {{"anyOf", members["oneOf"]}};
      loosened_.push_back({keyword, path});
      members.erase("oneOf");
      auto& parts = members["allOf"];
      if (!parts.is_array()) parts.emplace_array();
      parts.get_array().push_back(std::move(any));
      return;
    }
    take(schema, path, keyword);
    if (keyword == "if") take(schema, path, {"then", "else"});
    if (keyword == "contains") take(schema, path, {"minContains", "maxContains"});
  }

  void take_with_rests(json::value& schema, const loosened_keyword& keyword) {
    static const std::set<std::string_view> asserting = {"minimum",
                                                         "maximum",
                                                         "exclusiveMinimum",
                                                         "exclusiveMaximum",
                                                         "multipleOf",
                                                         "minLength",
                                                         "maxLength",
                                                         "pattern",
                                                         "format",
                                                         "minItems",
                                                         "maxItems",
                                                         "uniqueItems",
                                                         "required",
                                                         "minContains",
                                                         "maxContains",
                                                         "minProperties",
                                                         "maxProperties",
                                                         "dependentRequired",
                                                         "type",
                                                         "const",
                                                         "enum",
                                                         "propertyNames",
                                                         "not"};
    if (!member(schema, keyword.name)) {
      for (const auto& name : keywords_of(schema)) take(schema, keyword.path, name);
    } else {
      take(schema, keyword.path, keyword.name);
    }
    if (keyword.name == "properties" || keyword.name == "patternProperties")
      take(schema, keyword.path, "additionalProperties");
    if (keyword.name == "prefixItems") take(schema, keyword.path, "items");
    if (keyword.name == "items") take(schema, keyword.path, "additionalItems");
    if (keyword.name == "contains") take(schema, keyword.path, {"minContains", "maxContains"});
    if (!asserting.contains(keyword.name)) take_unevaluated(root_, "#");
  }

  void take_unevaluated(json::value& schema, const std::string& path) {
    take(schema, path, {"unevaluatedItems", "unevaluatedProperties"});
    for_each_subschema(schema, [&](json::value& subschema, const std::string& below, std::string_view) {
      count_steps(1 + path.size() / 16);
      take_unevaluated(subschema, path + below);
    });
  }

  static std::vector<std::string> keywords_of(const json::value& schema) {
    std::vector<std::string> names;
    for (const auto& each : schema.get_object())
      if (kind_of_keyword(each.key()) != keyword_kind::annotation) names.emplace_back(each.key());
    return names;
  }

  void take(json::value& schema, const std::string& path, std::string_view keyword) {
    auto* members = schema.if_object();
    if (members && members->erase(keyword) > 0) loosened_.push_back({std::string(keyword), path});
  }

  void take(json::value& schema, const std::string& path, std::initializer_list<std::string_view> names) {
    for (const auto name : names) take(schema, path, name);
  }

  json::value& root_;
  std::vector<loosened_keyword> loosened_;
};

}  // namespace

std::vector<loosened_keyword> loosen(json::value& root, const loosened_keyword& keyword) {
  resolve_references(root);
  return loosening(root).run(keyword);
}

std::vector<loosened_keyword> loosen_all(json::value& root) {
  auto* members = root.if_object();
  if (!members) return {};
  json::object kept;
  std::vector<loosened_keyword> loosened;
  for (const auto& each : *members) {
    const std::string_view name = each.key();
    if (kind_of_keyword(name) == keyword_kind::annotation) continue;
    if (name == "type" && has_kind(each.value(), keyword_kind::type)) {
      kept[name] = each.value();
    } else {
      loosened.push_back({std::string(name), "#"});
    }
  }
  *members = std::move(kept);
  return loosened;
}

/// One keyword after the other is taken out, until the rest can be kept.
schema_rule write_in_mode(json::value schema, rule_list& rules, schema_mode mode,
                          const std::function<std::string(const json::value&, rule_list&)>& write) {
  constexpr int max_loosened_keywords = 64;
  schema_rule added;
  const auto original = rules;
  for (int tries = 0;; ++tries) {
    std::vector<loosened_keyword> loosened;
    try {
      added.name = write(schema, rules);
      return added;
    } catch (const keyword_error& error) {
      if (mode == schema_mode::strict) throw;
      if (tries < max_loosened_keywords) loosened = loosen(schema, error.keyword);
      if (loosened.empty()) loosened = loosen_all(schema);
      if (loosened.empty()) throw;
    } catch (const schema_size_error&) {
      if (mode == schema_mode::strict) throw;
      loosened = loosen_all(schema);
      if (loosened.empty()) throw;
    }
    rules = original;
    added.loosened.insert(added.loosened.end(), loosened.begin(), loosened.end());
  }
}

}  // namespace cogen::grammar
