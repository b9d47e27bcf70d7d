#include "answers/grammar/json_schema.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/regex_ebnf.hpp"
#include "answers/grammar/schema_loosening.hpp"
#include "answers/grammar/schema_writer.hpp"
#include "answers/grammar/string_rules.hpp"

#include <utility>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

/// A space, or line breaks with an indentation: a model that likes white space comes to an end of it.
constexpr const char* bounded_space = "[ \\t]?(?:\\r?\\n(?:\\r?\\n)?[ \\t]{0,32})?";

}  // namespace

schema_grammar ebnf_of_json_schema(std::string_view schema, const schema_limits& limits, schema_mode mode) {
  rule_list rules;
  auto added = add_json_schema(schema, rules, limits, mode);
  rules.add("root", added.name);
  add_json_rules(rules);
  return {rules.text(), std::move(added.loosened), rules.distinct()};
}

schema_rule add_json_schema(std::string_view text, rule_list& rules, const schema_limits& limits, schema_mode mode,
                            unnamed_properties unnamed) {
  return write_in_mode(parse_schema(text), rules, mode, [&](const json::value& schema, rule_list& target) {
    return schema_writer(schema, target, limits, unnamed).run();
  });
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
