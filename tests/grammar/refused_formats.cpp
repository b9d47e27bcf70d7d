#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

using namespace cogen;
using namespace cogen::grammar;

namespace {

void check_schema(const char* schema, std::string_view named) {
  BOOST_TEST_CONTEXT(schema) { check_refusal(json_schema(schema), named); }
}

std::string nested(const char* open, const char* close, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += open;
  text += "1";
  for (int i = 0; i < times; ++i) text += close;
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(refused_formats)

BOOST_AUTO_TEST_CASE(texts_that_are_no_schema) {
  check_schema("", "the JSON schema");
  check_schema("{\"type\": ", "the JSON schema");
  check_schema("[]", "must be an object or a boolean");
  check_schema("3", "must be an object or a boolean");
  check_schema(R"({"type": "text"})", "the value of \"type\" must be the name of a type, or an array of such names");
  check_schema(R"({"properties": []})", "the value of \"properties\" must be an object whose values are schemas");
  check_schema(R"({"properties": {"a": 3}})", "the value of \"properties\" must be an object whose values are schemas");
  check_schema(R"({"minLength": -1})",
               "the value of \"minLength\" must be a whole number of at least 0 and below 10^18");
  check_schema(R"({"enum": 1})", "the value of \"enum\" must be an array");
  check_schema(R"({"anyOf": []})", "the value of \"anyOf\" must be an array of schemas, and not empty");
  check_schema(R"({"minLength": 1000000000000000000})", "the value of \"minLength\" must be a whole number");
  check_schema(R"({"items": 1})", "the value of \"items\" must be a schema, or an array of schemas");
  check_schema(R"({"not": 1})", "the value of \"not\" must be a schema");
  check_schema(R"({"dependencies": {"a": 1}})",
               "the value of \"dependencies\" must be an object whose values are schemas or arrays of strings");
  check_schema(R"({"required": [1]})", "the value of \"required\" must be an array of strings");
  check_schema(R"({"dependentRequired": {"a": [1]}})",
               "the value of \"dependentRequired\" must be an object whose values are arrays of strings");
  check_schema(R"({"pattern": 1})", "the value of \"pattern\" must be a string");
  check_schema(R"({"maximum": "1"})", "the value of \"maximum\" must be a number");
  check_schema(R"({"uniqueItems": 1})", "the value of \"uniqueItems\" must be true or false");
  check_schema(R"({"multipleOf": 0})", "multipleOf must be above 0");
  check_schema(R"({"type": "string", "type": "number"})", "type");
  check_refusal(json_schema("{\"title\": \"\xFF\"}"), "UTF-8");
  check_refusal(json_schema(nested("{\"items\":", "}", 500)), "the JSON schema");
}

BOOST_AUTO_TEST_CASE(keywords_that_are_not_supported) {
  check_schema(R"({"$dynamicRef": "#a"})", "\"$dynamicRef\"");
  check_schema(R"({"properties": {"a/b": {"multipleOf": 0}}})", "at #/properties/a~1b: multipleOf must be above 0");
  check_schema(R"({"type": "array", "allOf": [{"contains": {"type": "null"}, "maxContains": 2},
                                              {"contains": {"const": 1}}]})",
               "several \"contains\"");
  check_schema(R"({"type": "array", "uniqueItems": true, "minItems": 3, "items": {"multipleOf": 3, "minimum": 0,
                   "maximum": 6, "type": "integer"}})",
               "\"uniqueItems\" of 3 items or more");
  check_schema(R"({"not": {"multipleOf": 3}})", "\"not\" of \"multipleOf\"");
  check_schema(R"({"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^a"}})",
               "minProperties above the number of listed properties");
  check_schema(R"({"type": "number", "minimum": 1, "multipleOf": 0.3})", "multipleOf");
  check_schema(R"({"type": "integer", "multipleOf": 123456789})", "multipleOf");
}

BOOST_AUTO_TEST_CASE(references_that_lead_nowhere) {
  check_schema(R"({"$ref": "http://example.com/schema"})", "'http://example.com/schema' is outside the schema");
  check_schema(R"({"$ref": "file:///etc/passwd"})", "outside the schema");
  check_schema(R"({"$ref": "other.json"})", "outside the schema");
  check_schema(R"({"$ref": "#/$defs/none"})", "'#/$defs/none' points to no schema");
  check_schema(R"({"$ref": "#none"})", "'#none' names no $anchor");
}

BOOST_AUTO_TEST_CASE(recursion_without_an_end) {
  check_schema(R"({"$ref": "#"})", "unbounded recursion");
  check_schema(
      R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"})",
      "unbounded recursion");
  check_schema(R"({"anyOf": [{"type": "null"}, {"$ref": "#"}]})", "unbounded recursion");
  check_schema(R"({"not": {"$ref": "#"}})", "schema");
  check_schema(R"({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}})", "allows no value");
}

BOOST_AUTO_TEST_CASE(schemas_that_allow_nothing) {
  check_schema("false", "allows no value");
  check_schema(R"({"enum": []})", "allows no value");
  check_schema(R"({"type": "string", "minLength": 3, "maxLength": 2})", "allows no value");
  check_schema(R"({"allOf": [{"type": "string"}, {"type": "null"}]})", "allows no value");
  check_schema(R"({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4})", "allows no value");
}

BOOST_AUTO_TEST_CASE(schemas_of_exponential_size) {
  std::string choices;
  for (int i = 0; i < 40; ++i) {
    const auto name = std::to_string(i);
    choices += std::string(i > 0 ? "," : "") + R"({"anyOf": [{"required": ["a)" + name + R"("]}, {"required": ["b)" +
               name + R"("]}]})";
  }
  check_refusal(json_schema(R"({"type": "object", "allOf": [)" + choices + "]}"), "expands to more than");
  std::string doubling;
  for (int i = 0; i < 60; ++i) {
    const auto next = R"({"$ref": "#/$defs/d)" + std::to_string(i + 1) + "\"}";
    doubling += "\"d" + std::to_string(i) + R"(": {"type": "object", "oneOf": [)" + next + "," + next + "]},";
  }
  check_refusal(json_schema(R"({"$defs": {)" + doubling + R"("d60": {}}, "$ref": "#/$defs/d0"})"), "schema");
  check_refusal(json_schema(R"({"type": "array", "minItems": 100001})"), "is supported up to 100000 items");
  check_refusal(json_schema(R"({"type": "string", "pattern": "^((ab){100}){100}$"})"), "more than 4000 states");
}

BOOST_AUTO_TEST_CASE(patterns_that_explode_or_are_malformed) {
  check_refusal(regex("((a{100}){100}){100}"), "states");
  check_refusal(regex("a{100001}"), "repeats more than 100000 times");
  check_refusal(regex("a{99999999999999999999}"), "repeats more than");
  check_refusal(regex(nested("(", ")", 1000)), "nests more than 32 groups");
  check_refusal(regex(std::string(20'000, 'a')), "exceeds the limit of 16384");
  const std::pair<const char*, const char*> malformed[] = {{"(a", "( without its )"},
                                                           {"a)", ") without its ("},
                                                           {"[a", "ends too early"},
                                                           {"*a", "repeats nothing"},
                                                           {"a**", "repeats"},
                                                           {"a{2,1}", "out of order"},
                                                           {"[z-a]", "out of order"},
                                                           {"\\", "ends too early"},
                                                           {"\\xg1", "hexadecimal"},
                                                           {"\\u{110000}", "U+10FFFF"},
                                                           {"\\q", "unknown escape"},
                                                           {"(?<a", "does not end"},
                                                           {"\\p{L", "\\p"},
                                                           {"\\pL", "\\p"},
                                                           {"[]", "allows no character"}};
  for (const auto& [pattern, named] : malformed) BOOST_TEST_CONTEXT(pattern) {
      check_refusal(regex(pattern), named);
    }
  const std::pair<const char*, const char*> unsupported[] = {{"((?=a))", "a lookahead"},
                                                             {"(?<!a)b", "a lookbehind"},
                                                             {"(a)\\1", "a reference"},
                                                             {"\\bword", "\\b"},
                                                             {"\\p{Script=Greek}", "'Script=Greek'"},
                                                             {"a(^b)", "^ or $ inside"},
                                                             {"a^b", "^ or $ inside"}};
  for (const auto& [pattern, named] : unsupported) BOOST_TEST_CONTEXT(pattern) {
      check_refusal(regex(pattern), named);
    }
  check_refusal(regex("(?=a)b"), "leaves nothing");
  check_refusal(regex("\xFF"), "UTF-8");
}

BOOST_AUTO_TEST_CASE(grammars_that_are_malformed_or_explode) {
  check_refusal(ebnf(""), "root");
  check_refusal(ebnf("other ::= \"a\""), "root");
  check_refusal(ebnf("root ::= missing"), "missing");
  check_refusal(ebnf("root ::= \"a"), "without its \"");
  check_refusal(ebnf("root ::= [a"), "without its ]");
  check_refusal(ebnf("root ::= (\"a\""), "without its )");
  check_refusal(ebnf("root ::= \"a\")"), "without its (");
  check_refusal(ebnf("root ::= \"a\"{1000000}"), "repeats a part more than");
  check_refusal(ebnf("root ::= ((\"a\"{1000}){1000}){1000}"), "states");
  check_refusal(ebnf("root ::= " + nested("(", ")", 1000)), "nests more than");
  check_refusal(ebnf("root ::= TagDispatch((\"<a>\", root))"), "TagDispatch");
  check_refusal(ebnf("root[max_tokens=3] ::= \"a\""), "::=");
  check_refusal(ebnf("root ::= root"), "nothing");
  check_refusal(ebnf("root ::= \"a\" root"), "nothing");
  check_refusal(ebnf("root ::= \"a\"{5,2}"), "the grammar repeats a part {5,2} times, and so never");
  check_refusal(ebnf("root ::= []"), "the rule 'root' of the grammar has no end, and allows nothing");
  check_refusal(ebnf("root ::= \"a\" []+ | []"), "allows nothing");
  check_refusal(ebnf("root ::= \"a\" | more\nmore ::= \"b\" more"), "the rule 'more' of the grammar has no end");
}

BOOST_AUTO_TEST_CASE(choices_of_nothing) {
  check_refusal(choice({}), "allows nothing");
  check_refusal(choice({"a", "\xC3"}), "UTF-8");
}

BOOST_AUTO_TEST_SUITE_END()
