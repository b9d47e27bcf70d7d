#include "answers/grammar/schema_writer.hpp"

#include "answers/grammar/regex_ebnf.hpp"
#include "answers/grammar/regex_intersection.hpp"
#include "answers/grammar/schema_keywords.hpp"
#include "answers/grammar/steps.hpp"

#include <algorithm>
#include <cmath>

namespace cogen::grammar {
namespace {

namespace json = boost::json;

const std::string comma = R"(ws "," ws)";

bool says_nothing(const json::value& schema) {
  if (schema.is_bool()) return schema.get_bool();
  return std::ranges::all_of(
      schema.get_object(), [](const auto& entry) { return kind_of_keyword(entry.key()) == keyword_kind::annotation; });
}

}  // namespace

std::uint64_t less(std::uint64_t count, std::uint64_t taken) {
  if (count == repetition::unlimited) return count;
  return count > taken ? count - taken : 0;
}

std::string optional(const std::string& part) { return "(" + part + ")?"; }

std::string schema_writer::run() {
  const schema_set whole = {&document_.root()};
  if (cases_.is_empty(whole)) throw grammar_error("the JSON schema allows no value");
  return rule_of(whole);
}

std::string schema_writer::rule_of(const schema_set& schemas) {
  schema_set asserting;
  for (const auto* schema : schemas)
    if (!says_nothing(*schema)) asserting.insert(schema);
  if (asserting.empty()) return "value";
  const auto [known, is_new] = names_.try_emplace(asserting);
  if (!is_new) return known->second;
  schema_budget::check_nesting(++depth_);
  const auto name = known->second = rules_.new_name("schema");
  write(name, asserting);
  --depth_;
  return name;
}

void schema_writer::write(const std::string& name, const schema_set& schemas) {
  std::vector<std::string> parts;
  for (const auto& each : cases_.expand(schemas)) write_case(each, parts);
  if (parts.empty()) throw grammar_error("JSON schema: a part of it allows no value");
  rules_.add(name, alternatives(parts));
  if (rules_.size() > limits_.bytes)
    throw schema_size_error("JSON schema: its grammar exceeds the limit of " + std::to_string(limits_.bytes) +
                            " bytes");
}

void schema_writer::add(std::vector<std::string>& parts, std::optional<std::string> part) {
  count_steps(parts.size());
  if (part && std::ranges::find(parts, *part) == parts.end()) parts.push_back(std::move(*part));
}

void schema_writer::write_case(const schema_case& applied, std::vector<std::string>& parts) {
  if (const auto values = cases_.values_of(applied)) {
    std::set<std::string> known(parts.begin(), parts.end());
    for (const auto& each : *values)
      if (auto part = ebnf_of_value(each); known.insert(part).second) parts.push_back(std::move(part));
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

std::string schema_writer::ebnf_of_value(const json::value& value) {
  count_step();
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

std::string schema_writer::enclosed(const char* open, const std::vector<std::string>& parts, const char* close) {
  std::vector<std::string> pieces = {literal(open), "ws"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) pieces.push_back(comma);
    pieces.push_back(parts[i]);
  }
  if (!parts.empty()) pieces.emplace_back("ws");
  pieces.push_back(literal(close));
  return sequence(pieces);
}

std::string schema_writer::property(std::string_view name, const std::string& value) {
  return sequence({literal(json_spelling(name)), R"(ws ":" ws)", value});
}

std::optional<std::string> schema_writer::number(const schema_case& applied) {
  const auto range = cases_.numbers_of(applied);
  const auto factors = cases_.factors_of(applied);
  if (const auto excluded = cases_.excluded_numbers(applied); !excluded.empty() || cases_.excludes_integers(applied))
    return numbers_but(applied, range, excluded);
  if (factors.empty() && range.unlimited()) return range.integer ? "integer" : "number";
  if (factors.empty()) return regular(numbers(range));
  auto factor = factors.front();
  for (const auto& each : factors) {
    const auto common = common_multiple(factor, each);
    if (!common) cases_.refuse(applied, {"multipleOf"}, "several multipleOf have no common multiple below 10^15");
    factor = *common;
  }
  if (const auto multiples = multiples_by_last_digits(factor, range.integer)) {
    const auto limits = range.unlimited() ? std::nullopt : numbers(range);
    if (range.empty()) return std::nullopt;
    return kept(applied, {"multipleOf"}, [&] {
      return regular(limits ? intersection({*multiples, *limits}, {}) : *multiples);
    });
  }
  if (range.unlimited())
    return kept(applied, {"multipleOf"}, [&] { return multiples_of(factor, range.integer, rules_); });
  return listed_multiples(applied, range, factor);
}

std::optional<std::string> schema_writer::numbers_but(const schema_case& applied, const number_range& range,
                                                      const std::vector<decimal>& excluded) {
  if (!cases_.factors_of(applied).empty())
    cases_.refuse(applied, {"not"}, "\"not\" of a number beside multipleOf is not supported");
  const auto allowed = numbers(range);
  if (!allowed) return std::nullopt;
  std::vector<regex_node> spellings;
  for (const auto& each : excluded) spellings.push_back(spellings_of(each));
  if (cases_.excludes_integers(applied)) spellings.push_back(parse_regex(R"(-?\d+(?:\.0*)?)", regex_match::whole));
  return kept(applied, {"not"}, [&] { return regular(intersection({*allowed}, spellings)); });
}

std::optional<std::string> schema_writer::listed_multiples(const schema_case& applied, const number_range& range,
                                                           const decimal& factor) {
  const auto refuse = [&] {
    cases_.refuse(applied, {"multipleOf"}, "multipleOf beside minimum or maximum is supported for up to 1000 integers");
  };
  if (!range.min || !range.max || !factor.fraction.empty()) refuse();
  const auto value_of = [](const decimal& number) { return std::stold(number.text()); };
  const auto first = value_of(range.min->value), last = value_of(range.max->value), step = value_of(factor);
  if (first < -1e15L || last > 1e15L || (last - first) / step > 1000) refuse();
  std::vector<std::string> parts;
  for (auto multiplier = std::ceil(first / step); multiplier * step <= last; ++multiplier) {
    const auto value = static_cast<std::int64_t>(multiplier * step);
    const auto as_decimal = *decimal::parse(std::to_string(value));
    if (range.min->excluded && as_decimal == range.min->value) continue;
    if (range.max->excluded && as_decimal == range.max->value) continue;
    parts.push_back(literal(std::to_string(value)));
  }
  if (parts.empty()) return std::nullopt;
  return alternatives(parts);
}

std::optional<std::string> schema_writer::string(const schema_case& applied) {
  return kept(applied, {"maxLength", "minLength", "pattern", "format", "not"},
              [&] { return string(cases_.strings_of(applied)); });
}

std::optional<std::string> schema_writer::string(const string_rules& strings) {
  if (strings.unlimited()) return "string";
  if (strings.only_excludes()) return strings_.but(strings.excluded);
  return regular(strings_in_json(strings));
}

std::optional<std::string> schema_writer::regular(const std::optional<regex_node>& texts) {
  if (!texts) return std::nullopt;
  const auto [known, is_new] = regular_.try_emplace(syntax_of(*texts));
  if (is_new) {
    const auto expression = ebnf_of(*texts, rules_);
    rules_.add(known->second = rules_.new_name("regular"), expression);
  }
  return known->second;
}

}  // namespace cogen::grammar
