#pragma once

#include "grammar/grammar_error.hpp"
#include "grammar/json_schema.hpp"
#include "grammar/schema_cases.hpp"

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cogen::grammar {

/// Writes the rules of one schema.
class schema_writer {
 public:
  schema_writer(boost::json::value schema, rule_list& rules, const schema_limits& limits)
      : document_(std::move(schema)),
        budget_(limits.schemas),
        cases_(document_, budget_),
        limits_(limits),
        rules_(rules) {}

  /// The name of the rule of its values.
  std::string run();

 private:
  struct listed_property {
    std::string name;
    schema_set schemas;
    bool required = false;
  };

  /// An object's members: those that are listed, in order, and what others look like; none if there may be none.
  struct members {
    std::vector<listed_property> listed = {};
    std::optional<std::string> other = {};
    bool others_may_be_listed = false;  ///< a name that matches a pattern
    repetition count = {};
    std::uint64_t required = 0;
    std::uint64_t counted = 1;  ///< how many are told apart
    std::map<std::pair<std::size_t, std::uint64_t>, std::optional<std::string>> tails = {};  // by what comes before

    /// Whether others may come before a listed one, too.
    bool others_come_anywhere() const { return other && count.most == repetition::unlimited && count.least <= 1; }
    std::uint64_t required_from(std::size_t next) const;
  };

  std::string rule_of(schema_set schemas);
  void write(const std::string& name, const schema_set& schemas);
  static void add(std::vector<std::string>& parts, std::optional<std::string> part);
  void write_case(const schema_case& applied, std::vector<std::string>& parts);
  std::string ebnf_of_value(const boost::json::value& value);
  static std::string enclosed(const char* open, const std::vector<std::string>& parts, const char* close);
  static std::string property(std::string_view name, const std::string& value);
  std::optional<std::string> number(const schema_case& applied);
  std::optional<std::string> numbers_but(const schema_case& applied, const number_range& range,
                                         const std::vector<decimal>& excluded);
  std::optional<std::string> listed_multiples(const schema_case& applied, const number_range& range,
                                              const decimal& factor);
  std::optional<std::string> string(const schema_case& applied);
  std::optional<std::string> string(const string_rules& strings);
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
  std::optional<std::string> regular(const std::optional<regex_node>& texts);

  std::optional<std::string> array(const schema_case& applied);
  /// What comes after the first `done` items: nothing, if they are enough, or another one.
  std::string items(const schema_case& applied, std::size_t done, std::size_t prefix, repetition count);
  /// Items of which some are valid by `contains`.
  std::optional<std::string> items_with_contained(const schema_case& applied, std::size_t prefix, repetition count);
  /// Items of which no two are equal, with what opens them.
  std::optional<std::string> distinct_items(const schema_case& applied, std::size_t prefix, repetition count);
  std::string distinct_strings_of(const std::string& item, repetition count);
  bool are_endless_strings(const schema_set& schemas);
  /// The values that schemas leave; none if there are others than those they list.
  std::optional<std::vector<boost::json::value>> listed_values(const schema_set& schemas);

  std::optional<std::string> object(const schema_case& applied);
  bool is_any_object(const schema_case& applied);
  /// Says whether all that is required is allowed.
  bool list_properties(const schema_case& applied, members& all, std::vector<std::string>& excluded);
  static std::vector<std::string> names_of(const schema_case& applied);
  std::optional<std::string> other_members(const schema_case& applied, const std::vector<std::string>& excluded,
                                           bool is_open);
  std::optional<std::string> key(const schema_case& applied, const string_rules& rules);
  /// Other properties than the listed ones come only where a schema speaks of them.
  static bool says_what_others_are(const schema_case& applied);
  /// What `propertyNames` says; none if it allows no name.
  std::optional<string_rules> key_rules(const schema_case& applied);
  /// Settles how many members there may be. Says whether there may be enough.
  bool limit_count(const schema_case& applied, members& all);
  /// What follows the properties before number `next`, `done` of which are there; none if nothing may follow.
  std::optional<std::string> members_after(members& all, std::size_t next, std::uint64_t done);
  /// The same as a rule, which is written once.
  std::optional<std::string> tail(members& all, std::size_t next, std::uint64_t done);
  std::optional<std::string> other_members_after(const members& all, std::uint64_t done);

  schema_document document_;
  schema_budget budget_;
  schema_cases cases_;
  schema_limits limits_;
  rule_list& rules_;
  std::map<schema_set, std::string> names_;
  std::map<std::string, std::string> regular_;  // names of rules, by what they are
  int depth_ = 0;
};

/// As many fewer, of at least none.
std::uint64_t less(std::uint64_t from, std::uint64_t taken);

std::string optional(const std::string& part);

}  // namespace cogen::grammar
