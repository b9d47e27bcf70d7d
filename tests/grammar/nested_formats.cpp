// Formats by depth and by breadth, on little stack: each is compiled, or refused in a sentence.
#include "../small_stack.hpp"
#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace cogen;
using namespace cogen::grammar;

namespace {

std::string times(std::string_view part, std::size_t count) {
  std::string text;
  for (; count > 0; --count) text += part;
  return text;
}

/// `part(i)` for each number, with commas between.
std::string list_of(std::size_t count, const std::function<std::string(const std::string&)>& part) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + part(std::to_string(i));
  return text;
}

/// What surrounds a schema in another one; X is where it stands.
const std::vector<std::string> surroundings = {
    R"({"allOf": [X]})",
    R"({"anyOf": [X, {"type": "null"}]})",
    R"({"oneOf": [X, {"const": 1}]})",
    R"({"not": X})",
    R"({"if": X, "then": {"type": "integer"}, "else": {"type": "string"}})",
    R"({"if": {"type": "integer"}, "then": X})",
    R"({"if": {"type": "integer"}, "else": X})",
    R"({"type": "array", "items": X})",
    R"({"type": "array", "items": [{}], "additionalItems": X})",
    R"({"type": "array", "prefixItems": [X], "items": false})",
    R"({"type": "array", "contains": X})",
    R"({"type": "array", "unevaluatedItems": X})",
    R"({"type": "array", "minItems": 1, "items": X})",
    R"({"type": "object", "properties": {"a": X}})",
    R"({"type": "object", "properties": {"a": X}, "required": ["a"], "additionalProperties": false})",
    R"({"type": "object", "patternProperties": {"^a": X}})",
    R"({"type": "object", "additionalProperties": X})",
    R"({"type": "object", "unevaluatedProperties": X})",
    R"({"type": "object", "propertyNames": X})",
    R"({"type": "object", "properties": {"a": {}}, "dependentSchemas": {"a": X}})",
    R"({"type": "object", "properties": {"a": {}}, "dependencies": {"a": X}})",
    R"({"allOf": [{"$defs": {"a": X}}]})",
    R"({"x": X})"};

std::string around(const std::string& surrounding, const std::string& inner) {
  auto text = surrounding;
  return text.replace(text.find('X'), 1, inner);
}

/// Definitions, each with a reference to the next one.
std::string chained(const std::string& surrounding, std::size_t count) {
  return R"({"$ref": "#/$defs/0", "$defs": {)" +
         list_of(count,
                 [&](const std::string& i) {
                   const auto next = std::to_string(std::stoul(i) + 1);
                   return "\"" + i + "\": " + around(surrounding, R"({"$ref": "#/$defs/)" + next + "\"}");
                 }) +
         ",\"" + std::to_string(count) + R"(": {"type": "integer"}}})";
}

/// A schema that holds itself so many times.
std::string nested(const std::string& surrounding, std::size_t depth) {
  const auto position = surrounding.find('X');
  return times(surrounding.substr(0, position), depth) + "true" + times(surrounding.substr(position + 1), depth);
}

void check_is_survived(const response_format& format) {
  std::string said;
  test::on_small_stack([&] { said = refusal(format, {.limits = {.time = std::chrono::milliseconds(200)}}); });
  BOOST_TEST(said.size() < 500u, said);
  BOOST_TEST(said.find('\n') == std::string::npos, said);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(nested_formats)

BOOST_AUTO_TEST_CASE(schemas_by_depth) {
  for (const auto& each : surroundings) BOOST_TEST_CONTEXT(each) {
      for (const std::size_t depth : {10, 20, 1000, 20'000}) {
        check_is_survived(json_schema(nested(each, depth)));
        check_is_survived(json_schema(nested(each, depth), false));
      }
      BOOST_TEST(refusal(json_schema(nested(each, 65))) != "");
    }
}

BOOST_AUTO_TEST_CASE(schemas_by_references) {
  for (const auto& each : surroundings) BOOST_TEST_CONTEXT(each) {
      check_is_survived(json_schema(chained(each, 150)));
      check_is_survived(json_schema(chained(each, 3000)));
    }
  for (const auto* each : {"X", R"({"items": X})", R"({"not": X})"}) {
    check_is_survived(json_schema(chained(each, 3000), false));
    check_refusal(json_schema(chained(each, 20'000)), "more than");
  }
}

BOOST_AUTO_TEST_CASE(nesting_of_schemas_and_choices_is_bounded) {
  BOOST_TEST(refusal(json_schema(chained(R"({"type": "object", "required": ["a"], "properties": {"a": X}})", 150))) ==
             "");
  check_refusal(json_schema(chained(R"({"type": "object", "required": ["a"], "properties": {"a": X}})", 250)),
                "it nests more than 200 schemas");
  BOOST_TEST(refusal(json_schema(chained(R"({"anyOf": [X, {"type": "null"}]})", 500))) == "");
  check_refusal(json_schema(chained(R"({"anyOf": [X, {"type": "null"}]})", 1500)), "it nests more than 1000 choices");
}

BOOST_AUTO_TEST_CASE(places_of_long_names_are_bounded) {
  const auto below = [](const std::string& inner) {
    return R"({"properties": {")" + times("k", 500'000) + R"(": {"properties": {)" + inner + "}}}}";
  };
  const auto many = list_of(2000, [](const std::string& i) { return "\"" + i + "\": {}"; });
  check_refusal(json_schema(below(many)), "the pointers to its parts take more than 67108864 bytes");
  check_refusal(json_schema(R"({"$id": "http://a/)" + times("k", 500'000) + R"(", "properties": {)" + many + "}}"),
                "the pointers to its parts take more than");
  BOOST_TEST(refusal(json_schema(below(R"("a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "null"})"))) != "");
}

BOOST_AUTO_TEST_CASE(schemas_by_breadth) {
  const auto several = [](const std::string& open, const std::string& part, const std::string& close) {
    return open + list_of(9000, [&](const std::string& i) { return around(part, i); }) + close;
  };
  for (const auto& each :
       {several(R"({"allOf": [)", R"({"minimum": X})", "]}"), several(R"({"anyOf": [)", R"({"const": X})", "]}"),
        several(R"({"oneOf": [)", R"({"const": X})", "]}"), several(R"({"enum": [)", "X", "]}"),
        several(R"({"const": [)", "X", "]}"), several(R"({"const": {)", R"("X": 1)", "}}"),
        several(R"({"prefixItems": [)", "{\"const\": X}", "]}"),
        several(R"({"prefixItems": [)", "{\"const\": X}", R"(], "items": false, "minItems": 9000})"),
        several(R"({"properties": {)", R"("X": {})", "}}"),
        several(R"({"properties": {)", R"("X": {})", R"(}, "additionalProperties": false})"),
        several(R"({"required": [)", R"("X")", "]}"), several(R"({"patternProperties": {)", R"("^X$": {})", "}}"),
        several(R"({"dependentRequired": {)", R"("X": ["a"])", "}}"), several(R"({"type": [)", R"("X")", "]}"),
        several("{", R"("X": {"type": "null"})", "}")}) {
    BOOST_TEST_CONTEXT(each.substr(0, 60)) { check_is_survived(json_schema(each)); }
  }
}

BOOST_AUTO_TEST_CASE(patterns_by_depth_and_breadth) {
  for (const std::size_t count : {30, 31, 5000}) {
    for (const auto& [open, close] :
         {std::pair("(", ")"), {"(?:", ")"}, {"(?:a|", ")"}, {"(?:", ")?"}, {"(?:b", ")*"}}) {
      check_is_survived(regex(times(open, count) + "a" + times(close, count)));
      check_is_survived(json_schema(R"({"type": "string", "maxLength": 50, "pattern": ")" + times(open, count) + "a" +
                                    times(close, count) + R"("})"));
    }
    for (const auto* part : {"a", "a?", "a|", "[ab]", "(a)", "a{2}", "(a|b)"})
      check_is_survived(regex(times(part, count)));
  }
}

BOOST_AUTO_TEST_CASE(grammars_by_depth_and_breadth) {
  for (const std::size_t count : {200, 250, 100'000})
    for (const auto& [open, close] :
         {std::pair("(", ")"), {"(", ")?"}, {"(", ")*"}, {"(\"b\" | ", ")"}, {"(\"b\" ", "){2}"}})
      check_is_survived(ebnf("root ::= " + times(open, count) + "\"a\"" + times(close, count)));
  for (const std::size_t count : {1000, 30'000})
    for (const auto* part : {" \"a\"", " [a]", " \"a\" |", " \"a\"?", " (\"a\")", " root", "\n", " #\n"})
      check_is_survived(ebnf("root ::= \"x\"" + times(part, count)));
  for (const auto* body : {"X", "\"a\" X", "X \"a\"", "X | \"x\"", "X?", "X \"a\"?", "\"a\"? X", "(X)", "X X"}) {
    std::string rules = "root ::= r0\n";
    for (std::size_t i = 0; i < 1000; ++i)
      rules += "r" + std::to_string(i) + " ::= " + around(body, "r" + std::to_string(i + 1)) + "\n";
    BOOST_TEST_CONTEXT(body) { check_is_survived(ebnf(rules + "r1000 ::= \"b\"\n")); }
  }
}

BOOST_AUTO_TEST_SUITE_END()
