#pragma once

#include "answers/grammar/number_range.hpp"
#include "answers/grammar/schema_document.hpp"
#include "answers/grammar/schema_set.hpp"
#include "answers/grammar/string_rules.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::grammar {

/// A schema that was applied to a value, in place, by another one of the same case.
struct applied_schema {
  const boost::json::value* schema;
  int parent = -1;        ///< its index; -1: none
  bool evaluates = true;  ///< what it has to say of a property or an item counts for its parent's `unevaluated...`
};

/// One way in which a value may satisfy a set of schemas: no choice is left among `anyOf` and the like.
using schema_case = std::vector<applied_schema>;

/// The six kinds of JSON values.
enum class value_type : std::uint8_t { null, boolean, number, string, array, object };
inline constexpr value_type all_value_types[] = {value_type::null,   value_type::boolean, value_type::number,
                                                 value_type::string, value_type::array,   value_type::object};

/// Ends a schema whose cases, rules or nested schemas are too many.
class schema_budget {
 public:
  explicit schema_budget(std::size_t steps) : left_(steps), steps_(steps) {}
  void spend();  ///< throws grammar_error where nothing is left
  static void check_nesting(std::size_t schemas);

 private:
  std::size_t left_;
  std::size_t steps_;
};

/// Takes schemas apart.
class schema_cases {
 public:
  schema_cases(const schema_document& document, schema_budget& budget) : document_(document), budget_(budget) {}

  /// The ways to satisfy all of them. A value that none of them admits is not valid; one may be admitted by several.
  std::vector<schema_case> expand(const schema_set& schemas);

  /// Whether no value satisfies all of them. May say no where it is not known.
  bool is_empty(const schema_set& schemas);

  /// Whether so many values surely satisfy all of them. May say no where it is not known.
  bool has_values(const schema_set& schemas, std::uint64_t count);

  /// The values that `enum` and `const` leave; none if there is no such keyword.
  std::optional<std::vector<boost::json::value>> values_of(const schema_case& applied) const;

  // What a case asks of a value of one type.
  bool allows(const schema_case& applied, value_type type) const;
  bool allows(const schema_case& applied, bool value) const;
  number_range numbers_of(const schema_case& applied) const;
  std::vector<decimal> excluded_numbers(const schema_case& applied) const;
  bool excludes_integers(const schema_case& applied) const;
  std::vector<decimal> factors_of(const schema_case& applied) const;
  string_rules strings_of(const schema_case& applied) const;
  repetition count_of(const schema_case& applied, const char* min, const char* max) const;
  std::vector<std::string> required_of(const schema_case& applied) const;
  schema_set item_of(const schema_case& applied, std::size_t index) const;
  std::size_t prefix_of(const schema_case& applied) const;  ///< how many items have schemas of their own
  schema_set property_of(const schema_case& applied, const std::string& name) const;
  /// Of a property that is named nowhere, and matches these patterns, perhaps also some of the possible ones, and no
  /// others.
  schema_set other_property_of(const schema_case& applied, const std::set<std::string>& patterns,
                               const std::set<std::string>& possible = {}) const;
  std::set<std::string> patterns_of(const schema_case& applied) const;
  regex_node pattern_of(const schema_case& applied, const std::string& pattern) const;  ///< one of these

  /// A schema that allows what another one does not.
  const boost::json::value& without(const boost::json::value& schema);

  /// Throws keyword_error for the first of these keywords that a schema of the case has.
  [[noreturn]] void refuse(const schema_case& applied, std::initializer_list<const char*> keywords,
                           std::string_view reason) const;

 private:
  using branch = std::vector<applied_schema>;
  enum class purpose : std::uint8_t { not_of, negation, siblings, absent, present, needed };
  struct pending;

  /// A schema that follows from another, made once, so that schemas can be compared by their addresses.
  template <typename Make>
  const boost::json::value& derive(purpose role, const boost::json::value& origin, Make make) {
    auto& kept = derived_[{role, &origin}];
    if (!kept)
      kept = &document_.keep(make(), origin,
                             role == purpose::not_of     ? origin_path::below_not
                             : role == purpose::siblings ? origin_path::same
                                                         : origin_path::unknown);
    return *kept;
  }

  void expand(pending state, std::vector<schema_case>& cases);
  void apply(pending& state, const applied_schema& next);
  void apply_choices(pending& state, const boost::json::value& schema, int index);
  void apply_dependencies(pending& state, const boost::json::value& schema, int index);
  /// The same, and no where it is not known.
  bool is_surely_empty(const schema_set& schemas);
  std::vector<branch> branches_of_one(const boost::json::value& schema, int index);
  bool is_empty(const schema_case& applied);
  static bool is_empty(const string_rules& strings);
  bool is_empty_array(const schema_case& applied);
  bool is_empty_object(const schema_case& applied);
  bool has_values(const schema_case& applied, std::uint64_t count);
  bool has_arrays(const schema_case& applied, std::uint64_t count);
  bool has_objects(const schema_case& applied, std::uint64_t count);
  const boost::json::value& negation_of(const boost::json::value& schema);

  const schema_document& document_;
  schema_budget& budget_;
  int nested_choices_ = 0;
  int nested_counts_ = 0;
  std::set<const boost::json::value*> partial_negations_;  // which do not say all that their schemas exclude
  std::size_t partial_uses_ = 0;
  std::set<schema_set> being_tested_;
  std::set<schema_set> not_empty_;
  std::map<std::pair<purpose, const boost::json::value*>, const boost::json::value*> derived_;
};

/// A number as JSON, in the fewest digits.
std::string number_text(const boost::json::value& number);

}  // namespace cogen::grammar
