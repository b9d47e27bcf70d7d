#pragma once

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/json_schema.hpp"
#include "answers/grammar/other_strings.hpp"
#include "answers/grammar/schema_cases.hpp"

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
  schema_writer(boost::json::value schema, rule_list& rules, const schema_limits& limits, unnamed_properties unnamed)
      : document_(std::move(schema)),
        budget_(limits.schemas),
        cases_(document_, budget_),
        limits_(limits),
        unnamed_(unnamed),
        rules_(rules),
        strings_(rules) {}

  /// The name of the rule of its values.
  std::string run();

 private:
  struct listed_property {
    std::string name;
    schema_set schemas;
    std::string member = {};  ///< the rule of its name and value
  };

  /// Where the members of an object are: how many were written, as far as they are counted, which required one is next,
  /// and which optional ones were written, if that is told apart.
  struct member_place {
    std::uint64_t done = 0;
    std::size_t required = 0;
    std::uint32_t written = 0;

    friend auto operator<=>(const member_place&, const member_place&) = default;
  };

  /// An object's members: required ones in order, optional ones anywhere, and what others look like; none if there may
  /// be none.
  struct members {
    std::vector<listed_property> required = {};
    std::vector<listed_property> optional = {};
    std::optional<std::string> other = {};
    bool others_are_endless = false;
    std::optional<std::string> behind = {};  ///< others that come behind the listed ones
    repetition count = {};
    std::uint64_t counted = 1;  ///< how many are told apart
    bool are_distinct = false;  ///< names are not told apart: the bracket says that they have to differ
    std::string any_optional = {};
    std::map<member_place, std::optional<std::string>> tails = {};

    std::size_t listed() const noexcept { return required.size() + optional.size(); }
  };

  std::string rule_of(const schema_set& schemas);
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
  std::string items(const schema_case& applied, std::size_t prefix, repetition count);
  std::string item(const schema_case& applied, std::size_t index);
  std::string items_alike(const schema_case& applied, std::size_t done, repetition count);
  /// Items of which some are valid by `contains`.
  std::optional<std::string> items_with_contained(const schema_case& applied, std::size_t prefix, repetition count);
  /// Items of which each of several `contains` has one.
  std::optional<std::string> items_of_kinds(const schema_case& applied, std::size_t prefix, repetition count);
  /// An array of items of which no two are equal.
  std::optional<std::string> few_distinct_items(const std::vector<boost::json::value>& values, repetition count);
  /// What opens an array of items of which no two are equal.
  std::string distinct_bracket(const schema_case& applied, std::size_t prefix, repetition count);
  bool are_endless_strings(const schema_set& schemas);
  /// The values that schemas leave; none if there are others than those they list.
  std::optional<std::vector<boost::json::value>> listed_values(const schema_set& schemas);

  std::optional<std::string> object(const schema_case& applied);
  bool is_any_object(const schema_case& applied);
  /// Says whether all that is required is allowed.
  bool list_properties(const schema_case& applied, members& layout, std::vector<std::string>& excluded);
  static std::vector<std::string> names_of(const schema_case& applied);
  void add_others(const schema_case& applied, members& layout, const std::vector<std::string>& excluded);
  /// One of them, whose name matches these patterns and no other ones; none if there is none.
  std::optional<std::string> other_member(const schema_case& applied, const string_rules& rules,
                                          const std::set<std::string>& wanted,
                                          const std::vector<std::string>& excluded);
  string_rules apart_from_others(const schema_case& applied, string_rules names, const std::set<std::string>& wanted);
  /// Other properties than the listed ones come only where a schema speaks of them.
  static bool says_what_others_are(const schema_case& applied);
  /// What `propertyNames` says; none if it allows no name.
  std::optional<string_rules> key_rules(const schema_case& applied);
  /// Adds the names that one case of `propertyNames` allows.
  void add_names(const schema_case& applied, const schema_case& names, std::vector<regex_node>& ways);
  /// Settles how many members there may be. Says whether there may be enough.
  bool limit_count(const schema_case& applied, members& layout);
  std::string member_of(listed_property& property);
  std::string any_optional_of(members& layout);
  static std::string members_behind(const members& layout, std::uint64_t done);
  /// What may come at a place, and the place behind it.
  struct member_step {
    std::string part;
    member_place next;
  };
  std::vector<member_step> steps_at(members& layout, const member_place& place);
  /// What follows at a place, behind which all tails are written; none if no object gets there.
  std::optional<std::string> members_at(members& layout, const member_place& place);
  /// The same as rules, for all places behind the first one.
  void write_tails(members& layout);
  void write_tail(members& layout, const member_place& place);
  void add_unwritten(members& layout, const member_place& place, std::vector<member_place>& places);

  schema_document document_;
  schema_budget budget_;
  schema_cases cases_;
  schema_limits limits_;
  unnamed_properties unnamed_;
  rule_list& rules_;
  other_strings strings_;
  std::map<schema_set, std::string> names_;
  std::map<std::string, std::string> regular_;  // names of rules, by what they are
  std::size_t depth_ = 0;
};

/// As many fewer, of at least none.
std::uint64_t less(std::uint64_t count, std::uint64_t taken);

std::string optional(const std::string& part);

}  // namespace cogen::grammar
