#include "answers/grammar/grammar_error.hpp"
#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

using namespace cogen;
using namespace cogen::grammar;

namespace {

using texts = std::initializer_list<const char*>;
using names = std::vector<std::string>;

/// The loosened keywords with their places.
names loosened(const compiled_grammar& grammar) {
  names result;
  for (const auto& each : grammar.loosened()) result.push_back(each.path + " " + each.name);
  return result;
}

void check(const char* schema, const names& expected, texts accepted, texts rejected) {
  BOOST_TEST_CONTEXT(schema) {
    const auto grammar = compiled(json_schema(schema, false));
    BOOST_TEST(loosened(*grammar) == expected, boost::test_tools::per_element());
    for (const char* text : accepted) BOOST_TEST(accepts(*grammar, text), text);
    for (const char* text : rejected) BOOST_TEST(!accepts(*grammar, text), text);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loosened_schemas)

BOOST_AUTO_TEST_CASE(nothing_is_loosened_that_can_be_kept) {
  check(R"({"type": "object", "properties": {"a": {"minimum": 5, "type": "integer"}}, "required": ["a"]})", {},
        {R"({"a":5})"}, {R"({"a":4})", "{}"});
}

BOOST_AUTO_TEST_CASE(what_cannot_be_kept_is_left_out_and_named) {
  check(
      R"({"type": "object", "properties": {"a/b": {"type": "integer", "multipleOf": 123456789, "minimum": 3},
                                                "c": {"$ref": "other.json"}}})",
      {"#/properties/c $ref", "#/properties/a~1b multipleOf"}, {R"({"a/b":5})", R"({"a/b":5,"c":[1]})"},
      {R"({"a/b":2})", R"({"a/b":"x"})"});
}

BOOST_AUTO_TEST_CASE(a_keyword_of_another_kind_is_left_out) {
  check(R"({"type": "object", "required": true, "properties": {"a": {"type": "integer", "required": true}}})",
        {"# required", "#/properties/a required"}, {"{}", R"({"a":5})"}, {R"({"a":null})"});
}

BOOST_AUTO_TEST_CASE(what_negates_it_goes_instead) {
  check(R"({"type": "integer", "not": {"multipleOf": 3}})", {"# not"}, {"1", "3"}, {"null"});
  check(R"({"type": "integer", "oneOf": [{"maximum": 3}, {"multipleOf": 123456789}]})",
        {"# oneOf", "#/allOf/0/anyOf/1 multipleOf"}, {"3", "4"}, {"null"});
  check(R"({"type": "integer", "if": {"$ref": "#/$defs/a"}, "then": {"const": 6}, "$defs": {"a": {"multipleOf": 3}}})",
        {"# if", "# then"}, {"6", "5", "3"}, {"null"});
}

BOOST_AUTO_TEST_CASE(what_speaks_of_the_rest_goes_with_it) {
  check(R"({"type": "object", "patternProperties": {"(?<=a)b": {"type": "null"}}, "additionalProperties": false})",
        {"# patternProperties", "# additionalProperties"}, {R"({"ab":null})", R"({"c":1})"}, {"null"});
}

BOOST_AUTO_TEST_CASE(a_schema_that_is_too_large_is_any_value_of_its_type) {
  std::string choices;
  for (int i = 0; i < 40; ++i) {
    const auto name = std::to_string(i);
    choices += std::string(i > 0 ? "," : "") + R"({"anyOf": [{"required": ["a)" + name + R"("]}, {"required": ["b)" +
               name + R"("]}]})";
  }
  check((R"({"type": "object", "description": "d", "allOf": [)" + choices + "]}").c_str(), {"# allOf"},
        {"{}", R"({"x":1})"}, {"[]"});
}

BOOST_AUTO_TEST_CASE(what_allows_nothing_is_refused_all_the_same) {
  BOOST_CHECK_THROW(compiled(json_schema(R"({"enum": []})", false)), grammar_error);
  BOOST_CHECK_THROW(compiled(json_schema("3", false)), grammar_error);
}

BOOST_AUTO_TEST_CASE(formats_that_may_be_loosened_are_others) {
  const char* schema = R"({"type": "integer", "multipleOf": 123456789})";
  BOOST_TEST(accepts(json_schema(schema, false), "1"));
  BOOST_TEST(!refusal(json_schema(schema)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
