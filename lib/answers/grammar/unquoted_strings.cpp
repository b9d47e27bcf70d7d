#include "answers/grammar/unquoted_strings.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/schema_cases.hpp"
#include "answers/grammar/schema_loosening.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

constexpr std::size_t max_schemas = 20'000;

/// Writes the strings of one schema.
class string_writer {
 public:
  string_writer(json::value schema, unquoted values)
      : values_(values), document_(std::move(schema)), budget_(max_schemas), cases_(document_, budget_) {}

  std::string run(const text_end& end, rule_list& rules) {
    std::vector<regex_node> ways;
    const auto cases = cases_.expand({&document_.root()});
    for (const auto& each : cases) {
      if (auto strings = strings_of(each)) ways.push_back(std::move(*strings));
      if (is_null(each)) ways.push_back(of_text("null"));
    }
    if (ways.empty()) throw grammar_error("the JSON schema allows no string");
    return kept(cases.front(), [&] { return add_unquoted_text(any_of(std::move(ways)), end, rules); });
  }

 private:
  std::optional<regex_node> strings_of(const schema_case& applied) {
    if (const auto values = cases_.values_of(applied)) return any_string(*values);
    if (!cases_.allows(applied, value_type::string)) return std::nullopt;
    return kept(applied, [&] { return strings_without_quotes(cases_.strings_of(applied)); });
  }

  bool is_null(const schema_case& applied) const {
    if (values_ == unquoted::string) return false;
    const auto values = cases_.values_of(applied);
    return values ? std::ranges::any_of(*values, [](const json::value& value) { return value.is_null(); })
                  : cases_.allows(applied, value_type::null);
  }

  std::optional<regex_node> any_string(const std::vector<json::value>& values) const {
    std::vector<regex_node> ways;
    for (const auto& value : values)
      if (value.is_string() && !(values_ == unquoted::string_or_null && value == "null"))
        ways.push_back(of_text(value.get_string()));
    if (ways.empty()) return std::nullopt;
    return any_of(std::move(ways));
  }

  /// What `write` returns; what it cannot keep is a keyword of the case.
  template <class Write>
  auto kept(const schema_case& applied, const Write& write) -> decltype(write()) {
    try {
      return write();
    } catch (const keyword_error&) {
      throw;
    } catch (const grammar_error& error) {
      refuse(applied, error.what());
    }
  }

  [[noreturn]] void refuse(const schema_case& applied, const std::string& why) const {
    for (const auto* keyword : {"pattern", "format", "maxLength", "minLength", "not", "enum", "const"})
      for (const auto& each : applied)
        if (member(*each.schema, keyword)) cases_.refuse(applied, {keyword}, std::string(keyword) + ": " + why);
    throw grammar_error(why);
  }

  unquoted values_;
  schema_document document_;
  schema_budget budget_;
  schema_cases cases_;
};

}  // namespace

schema_rule add_unquoted_strings(json::value schema, unquoted values, const text_end& end, rule_list& rules,
                                 schema_mode mode) {
  return write_in_mode(std::move(schema), rules, mode, [&](const json::value& kept, rule_list& target) {
    return string_writer(kept, values).run(end, target);
  });
}

}  // namespace cogen::grammar
