#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace cogen;
using namespace cogen::grammar;

BOOST_AUTO_TEST_SUITE(json_schemas)

BOOST_AUTO_TEST_CASE(any_value_is_json) {
  for (const char* schema : {"{}", "true"})
    check(schema,
          {"null", "true", "-0.5e+10", "\"a\\u00e9\\n\"", "[]", "[1, [ ] ,{}]", "{\"a\" : {\"b\":[]}}",
           "\"\\ud83d\\ude00\"", "\"é\""},
          {"", "nul", "01", "1.", ".5", "+1", "'a'", "\"a", "\"\n\"", "\"\\x\"", "[1,]", "[,1]", "{\"a\"}", "{a:1}",
           "{,}", "1 2", "\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83dx\""});
}

BOOST_AUTO_TEST_CASE(a_json_object_is_one) {
  BOOST_TEST(accepts(json_object(), "{}"));
  BOOST_TEST(accepts(json_object(), "{ \"a\": [1] }"));
  BOOST_TEST(!accepts(json_object(), "[]"));
}

BOOST_AUTO_TEST_CASE(white_space_between_tokens_comes_to_an_end) {
  for (const auto& format :
       {json_object(), json_schema("{}"), json_schema(R"({"properties": {"a": {}}, "required": ["a"]})")})
    for (const auto* text :
         {"{%}", "{%\"a\":1}", "{\"a\"%:1}", "{\"a\":%1}", "{\"a\":1%}", "{\"a\":[%]}", "{\"a\":[1%]}"}) {
      const std::string with(text);
      const auto place = with.find('%');
      const auto spaced = [&](const std::string& space) {
        return accepts(format, with.substr(0, place) + space + with.substr(place + 1));
      };
      if (with == "{%}" && !accepts(format, "{}")) continue;
      for (const auto* space : {"", " ", "\n", "\n  ", "\r\n\t", "\n\n        "}) BOOST_TEST(spaced(space), text);
      for (const auto* space : {"  ", "\n\n\n", " \n \n"}) BOOST_TEST(!spaced(space), text);
      BOOST_TEST(!spaced("\n" + std::string(64, ' ')), text);
    }
}

BOOST_AUTO_TEST_CASE(properties_come_with_others_among_them) {
  check(R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}}, "required": ["b"],
          "additionalProperties": true})",
        {R"({"a":1,"b":null})", R"({"b":null})", R"({"b":null,"c":[]})", R"({ "a" : 1 , "b" : null , "ab" : 2 })",
         R"({"c":1,"d":2,"a":1,"f":[],"b":null,"e":{}})", R"({"c":1,"b":null})", R"({"b":null,"c":2,"a":1})"},
        {R"({"a":1})", R"({"b":1})", R"({"a":null,"b":null})", R"({"b":null,"a":null})", R"({"b":null,"c":})",
         R"({"b":null,})", R"({"b":null,"a":1,"a":1})", R"({"b":null,"b":null})"});
}

BOOST_AUTO_TEST_CASE(a_name_cannot_be_evaded_by_another_spelling) {
  check(R"({"type": "object", "properties": {"ab": false, "\"": false, "é": false}})",
        {R"({"a":1})", R"({"abc":1})", R"({"b":1})", "{}", R"({"":1})", R"({"\\":1})", R"({"è":1})"},
        {R"({"ab":1})", R"({"\u0061b":1})", R"({"a\u0062":1})", R"({"\"":1})", R"({"\u0022":1})", R"({"é":1})",
         R"({"\u00e9":1})"});
}

BOOST_AUTO_TEST_CASE(the_number_of_properties_is_kept) {
  check(R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false, "minProperties": 1})",
        {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}, {"{}", R"({"c":1})"});
  check(R"({"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 1, "maxProperties": 2})",
        {R"({"a":null})", R"({"a":null,"b":null})"}, {"{}", R"({"a":null,"b":null,"c":null})", R"({"a":1})"});
  check(R"({"type": "object", "maxProperties": 0})", {"{}", "{ }"}, {R"({"a":null})"});
  check(R"({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"], "maxProperties": 1})",
        {R"({"b":1})"}, {R"({"a":1,"b":1})", R"({"b":1,"c":1})", "{}"});
}

BOOST_AUTO_TEST_CASE(listed_properties_are_counted) {
  const auto closed = [](const char* limits) {
    return R"({"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}}, "additionalProperties": false, )" +
           std::string(limits) + "}";
  };
  check(closed(R"("minProperties": 2, "maxProperties": 3)").c_str(), {R"({"a":1,"d":1})", R"({"b":1,"c":1,"d":1})"},
        {"{}", R"({"a":1})", R"({"a":1,"b":1,"c":1,"d":1})"});
  check(closed(R"("required": ["d"], "maxProperties": 2)").c_str(), {R"({"d":1})", R"({"b":1,"d":1})"},
        {R"({"a":1,"b":1})", R"({"a":1,"b":1,"d":1})"});
  check(R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": {"type": "null"},
            "minProperties": 2})",
        {R"({"a":1,"b":1})", R"({"a":1,"c":null})", R"({"a":1,"b":1,"c":null,"d":null})"},
        {R"({"a":1})", R"({"c":null})"});
}

BOOST_AUTO_TEST_CASE(names_have_patterns) {
  check(R"({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false})",
        {"{}", R"({"x-a":1})", R"({"x-":1,"x-b":2})"}, {R"({"x-a":null})", R"({"y":1})", R"({"ax-":1})"});
  check(R"({"type": "object", "propertyNames": {"pattern": "^[a-c]+$"}})", {"{}", R"({"abc":1})"},
        {R"({"d":1})", R"({"":1})"});
  check(
      R"({"type": "object", "properties": {"x1": {"minimum": 5}}, 
          "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false})",
      {R"({"x1":5})", R"({"x1":7,"x2":9})"}, {R"({"x1":4})", R"({"x1":5.5})"});
}

BOOST_AUTO_TEST_CASE(arrays_have_items) {
  check(R"({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3})",
        {"[true]", "[ true , false ]", "[true,true,true]"}, {"[]", "[1]", "[true,true,true,true]", "[true,]"});
  check(R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"type": "null"}})",
        {"[]", "[1]", "[1,2]", "[1,2,null,null]"}, {"[2]", "[1,1]", "[1,2,3]"});
  check(R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": false, "minItems": 1})",
        {"[1]", "[1,2]"}, {"[]", "[1,2,3]"});
  check(R"({"type": "array", "items": [{"type": "null"}], "additionalItems": {"type": "integer"}})",
        {"[]", "[null,1,2]"}, {"[1]", "[null,null]"});
}

BOOST_AUTO_TEST_CASE(a_length_that_takes_too_many_states_leaves_some_of_the_texts) {
  check(R"({"type": "string", "pattern": "^[a-z]{1,32}(\\.[a-z]{1,32}){1,7}$", "maxLength": 120})",
        {"\"a.b\"", "\"abc.def.gh\""},
        {"\"a\"", ("\"" + std::string(32, 'a') + "." + std::string(32, 'b') + "." + std::string(32, 'c') + "." +
                   std::string(32, 'd') + "\"")
                      .c_str()});
}

BOOST_AUTO_TEST_CASE(many_names_leave_no_others) {
  std::string names;
  for (int i = 0; i < 70; ++i) names += (i > 0 ? ",\"name-" : "\"name-") + std::to_string(1000 + i) + "\": {}";
  check(("{\"type\": \"object\", \"properties\": {" + names + "}, \"additionalProperties\": true}").c_str(),
        {"{}", R"({"name-1003":1,"name-1004":[]})"}, {R"({"a":1})", R"({"name-1003":1,"a":2})"});
}

BOOST_AUTO_TEST_CASE(arrays_contain) {
  check(R"({"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}})",
        {"[5]", "[1,5,2]", "[ 1 , 5 ]", "[5,5]"}, {"[]", "[1]", "[\"a\",5]"});
  check(R"({"contains": {"type": "string"}, "minContains": 2, "maxContains": 2, "minItems": 3, "maxItems": 4})",
        {"[\"a\",\"b\",1]", "[1,\"a\",2,\"b\"]", "null"},
        {"[\"a\",\"b\"]", "[\"a\",1,2]", "[\"a\",\"b\",\"c\"]", "[\"a\",\"b\",1,2,3]"});
  check(R"({"type": "array", "prefixItems": [{"type": "null"}], "contains": {"const": 1}})",
        {"[null,1]", "[null,2,1,3]"}, {"[null]", "[1]", "[null,2]"});
  check(R"({"type": "array", "allOf": [{"contains": {"type": "integer"}}, {"contains": {"minimum": 5}},
                                       {"contains": {"type": "string"}}]})",
        {"[1,5.5,\"a\"]", "[\"a\",7]", "[null,\"b\",6,[]]", "[\"a\",1]"}, {"[]", "[7]", "[\"a\",5.5]", "[1,6]"});
  check(R"({"contains": {"const": 1}, "minContains": 3, "maxContains": 2})", {"null"}, {"[]", "[1,1]", "[1,1,1]"});
  check(R"({"type": "array", "contains": {"const": 1}, "minContains": 0})", {"[]", "[2]"}, {"null"});
  check(R"({"type": "array", "not": {"contains": {"type": "string"}}})", {"[]", "[1]"}, {"[1,\"a\"]"});
  check(R"({"type": "array", "not": {"items": {"type": "string"}}})", {"[1]", "[\"a\",1]"}, {"[]", "[\"a\"]"});
}

BOOST_AUTO_TEST_CASE(items_are_distinct) {
  check(R"({"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, null]}, "minItems": 1})",
        {"[1]", "[null,\"a\"]", "[ 1 , null , \"a\" ]"}, {"[]", "[1,1]", "[1,null,1]", "[2]", "[1,null,\"a\",1]"});
  check(
      R"({"type": "array", "uniqueItems": true, "items": {"enum": [1, 2, 3, 4, 5, 6, 7, 8]}, "minItems": 2,
          "maxItems": 3})",
      {"[1,8]", "[2,5,7]"}, {"[]", "[1]", "[1,1]", "[1,2,3,4]", "[5,9]"});
  check(R"({"type": "array", "uniqueItems": true, "items": {"type": ["boolean", "null"]}})",
        {"[]", "[true,null,false]"}, {"[true,true]", "[0]"});
  check(R"({"type": "array", "uniqueItems": false, "items": {"const": 1}})", {"[1,1]"}, {"[2]"});
}

BOOST_AUTO_TEST_CASE(strings_are_distinct_in_their_array) {
  const auto* schema = R"({"type": "object", "required": ["a", "b"], "properties": {
      "a": {"type": "array", "uniqueItems": true, "items": {"type": "string"}, "minItems": 1, "maxItems": 4},
      "b": {"type": "array", "items": {"type": "array", "uniqueItems": true,
                                       "items": {"type": "string", "minLength": 1}}},
      "c": {"type": "array", "items": {"type": "string"}}}})";
  check(schema,
        {R"({"a":["x"],"b":[]})", R"({"a":["x","y","xy",""],"b":[["x"],["x","y"],[]],"c":["x","x"]})",
         R"({"a":["x" , "]","["],"b":[]})", R"({"a":["\"","\\"],"b":[["a\"","a"]]})"},
        {R"({"a":["x","x"],"b":[]})", R"({"a":["x","y","x"],"b":[]})", R"({"a":["x","\u0078"],"b":[]})",
         R"({"a":["x"],"b":[["x","y"],["x","x"]]})", R"({"a":[],"b":[]})", R"({"a":["","",""],"b":[]})",
         R"({"a":["]","]"],"b":[]})"});
  const auto place = compiled(json_schema(schema))->start();
  accept_bytes(*place, R"({"a":["ab","abc","ab)");
  const auto ids = allowed(*place);
  BOOST_TEST(ids == allowed_by_trying(*place), boost::test_tools::per_element());
  BOOST_TEST(std::ranges::count(ids, token{'"'}) == 0);
  accept_bytes(*place, "d\"");
  place->roll_back(2);
  BOOST_TEST(allowed(*place) == ids, boost::test_tools::per_element());
  BOOST_TEST(allowed(*place->clone()) == ids, boost::test_tools::per_element());
  accept_bytes(*place, "d\"],\"b\":[]}");
  BOOST_TEST(place->is_complete());
}

BOOST_AUTO_TEST_CASE(patterns_hold_together_or_not) {
  check(R"({"type": "string", "pattern": "^a", "allOf": [{"pattern": "b$"}], "maxLength": 4})", {"\"ab\"", "\"a12b\""},
        {"\"a\"", "\"b\"", "\"a123b\""});
  check(R"({"not": {"pattern": "a"}})", {"\"b\"", "\"\"", "\"\\n\""}, {"\"ba\"", "1", "null"});
  check(R"({"type": "string", "format": "date", "pattern": "^2024"})", {"\"2024-02-29\""},
        {"\"2023-02-28\"", "\"2024\""});
  check(R"({"type": "string", "pattern": "^[a-c]+$", "not": {"enum": ["ab", "c"]}})", {"\"a\"", "\"abc\""},
        {"\"ab\"", "\"c\""});
  check(R"({"type": "string", "minLength": 1, "not": {"const": "a"}})", {"\"b\"", "\"aa\""}, {"\"a\"", "\"\""});
  check(R"({"type": "number", "not": {"enum": [3, 1.5, 0]}})", {"1", "1.51", "-3", "33"},
        {"3", "3.0", "1.50", "0", "-0", "-0.0"});
  check(R"({"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]})", {"\"a\"", "\"bb\""},
        {"\"ab\"", "\"c\""});
}

BOOST_AUTO_TEST_CASE(lengths_count_characters) {
  check(R"({"type": "string", "minLength": 2, "maxLength": 3})", {"\"ab\"", "\"é中\"", "\"a😀\"", "\"a\\n\\\\\""},
        {"\"a\"", "\"😀\"", "\"\\ud83d\\ude00\"", "\"abcd\""});
}

BOOST_AUTO_TEST_CASE(constants_are_spelled_in_one_way) {
  check(R"({"enum": ["a\"é", 12, 1.5, null, true, [1, {"b": []}]]})",
        {"\"a\\\"é\"", "12", "1.5", "null", "true", "[1,{\"b\":[]}]", "[ 1 , { \"b\" : [ ] } ]"},
        {"\"a\"", "1", "1.50", "[1]", "false"});
}

BOOST_AUTO_TEST_CASE(large_constants_are_compared_exactly) {
  check(R"({"enum": [9007199254740992, 9007199254740993, -9007199254740993, 18446744073709551615],
            "exclusiveMinimum": 9007199254740992.0})",
        {"9007199254740993", "18446744073709551615"}, {"9007199254740992", "-9007199254740993"});
  check(R"({"enum": [9223372036854775807, 9223372036854775808, 18446744073709551615], "minimum": 9223372036854775808.0,
            "exclusiveMaximum": 18446744073709551616.0, "not": {"const": 18446744073709551614}})",
        {"9223372036854775808", "18446744073709551615"}, {"9223372036854775807"});
}

BOOST_AUTO_TEST_CASE(siblings_hold_together) {
  check(R"({"$defs": {"small": {"maximum": 5}}, "type": "integer", "$ref": "#/$defs/small", "minimum": 3})", {"3", "5"},
        {"2", "6", "null"});
  check(R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
            "anyOf": [{"properties": {"a": {"minimum": 5}}},
                      {"properties": {"b": {"type": "null"}}, "required": ["b"]}]})",
        {R"({"a":5})", R"({"a":1,"b":null})"}, {R"({"a":1})", R"({"a":1,"b":2})", R"({"a":null,"b":null})"});
  check(R"({"enum": [1, "a", null, 7], "type": ["integer", "null"], "maximum": 5})", {"1", "null"}, {"7", "\"a\""});
}

BOOST_AUTO_TEST_CASE(exactly_one_holds) {
  check(R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})", {"1", "\"a\""}, {"null"});
  check(R"({"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": 10}]})", {"11", "4"}, {"5", "10", "7"});
  check(
      R"({"type": "object", "required": ["kind"], "oneOf": [
          {"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"]},
          {"properties": {"kind": {"const": "b"}, "n": {"type": "null"}}, "required": ["kind"]}]})",
      {R"({"kind":"a","n":1})", R"({"kind":"b","n":null})"}, {R"({"kind":"a","n":null})", R"({"kind":"c"})", "{}"});
}

BOOST_AUTO_TEST_CASE(conditions_choose) {
  check(R"({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "x": {}}, "required": ["kind"],
            "if": {"properties": {"kind": {"const": "a"}}}, 
            "then": {"required": ["x"]}, "else": {"properties": {"x": false}}})",
        {R"({"kind":"a","x":1})", R"({"kind":"b"})"}, {R"({"kind":"a"})", R"({"kind":"b","x":1})"});
  check(R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}})",
        {"{}", R"({"b":1})", R"({"a":1,"b":1})"}, {R"({"a":1})"});
}

BOOST_AUTO_TEST_CASE(negations_that_have_a_grammar) {
  check(R"({"not": {"type": ["string", "object"]}})", {"1", "null", "[]"}, {"\"a\"", "{}"});
  check(R"({"type": "string", "not": {"enum": ["a", "ab"]}})", {"\"\"", "\"b\"", "\"abc\"", "\"aa\""},
        {"\"a\"", "\"ab\"", "\"\\u0061\""});
  check(R"({"type": "object", "not": {"required": ["a"]}})", {"{}", R"({"b":1})"}, {R"({"a":1})", R"({"b":1,"a":1})"});
}

BOOST_AUTO_TEST_CASE(negations_of_which_a_part_has_a_grammar) {
  check(R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
            "not": {"properties": {"a": {"minimum": 3}}, "additionalProperties": false}})",
        {R"({"a":2})"}, {R"({"a":3})", R"({"a":null})"});
  check(R"({"oneOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false},
                      {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a", "b"]}]})",
        {R"({"a":2})", R"({"a":1})"}, {"{}", R"({"a":2,"b":2})"});
  check(R"({"not": {"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 2}, {"const": 3}]}})",
        {"\"a\"", "null", "4"}, {"\"abc\"", "3"});
  check(R"({"type": "array", "not": {"prefixItems": [{"type": "string"}, {"type": "integer"}]}})",
        {"[1]", "[\"a\",\"b\"]", "[\"a\",null,1]"}, {"[]", "[\"a\"]", "[\"a\",1]", "[\"a\",1,null]"});
  check(R"({"type": "integer", "not": {"if": {"minimum": 5}, "then": {"maximum": 7}, "else": {"minimum": 3}}})",
        {"8", "2", "-1"}, {"5", "7", "3", "4"});
  check(R"({"type": "object", "properties": {"a": {}, "b": {}}, "not": {"dependentRequired": {"a": ["b"]}}})",
        {R"({"a":1})"}, {"{}", R"({"b":1})", R"({"a":1,"b":1})"});
  BOOST_TEST(refusal(json_schema(R"({"not": {"additionalProperties": false}})")).find("additionalProperties") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(many_conditions_on_one_property) {
  std::vector<int> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::mt19937 random(7);
  for (int round = 0; round < 4; ++round) {
    std::string conditions;
    for (const int i : numbers)
      conditions += std::string(conditions.empty() ? "" : ",") + R"({"if": {"properties": {"kind": {"const": "k)" +
                    std::to_string(i) + R"("}}, "required": ["kind"]}, "then": {"properties": {"n": {"const": )" +
                    std::to_string(i) + "}}}}";
    check((R"({"type": "object", "properties": {"kind": {"type": "string"}, "n": {}}, "allOf": [)" + conditions +
           R"(], "required": ["kind", "n"]})")
              .c_str(),
          {R"({"kind":"k7","n":7})", R"({"kind":"k39","n":39})", R"({"kind":"k40","n":7})"},
          {R"({"kind":"k7","n":8})", R"({"n":7})"});
    std::ranges::shuffle(numbers, random);
  }
}

BOOST_AUTO_TEST_CASE(others_come_behind_properties_of_which_the_schema_says_nothing_more) {
  check(
      R"({"type": "object", "required": ["name"],
          "properties": {"name": {"type": "string"}, "size": {}, "notes": {}}})",
      {R"({"name":"a","extra":[1]})", R"({"name":"a","size":1,"title":null,"extra":2})",
       R"({"size":1,"name":"a","x":2})", R"({"name":"a","number":1})"},
      {R"({"extra":1})", R"({"name":"a","extra":1,"size":1})", R"({"name":"a","name":"b"})",
       R"({"name":"a","extra":1,"name":"b"})", R"({"name":"a","n\u0061me":1})", R"({"name":1})"});
  check(R"({"type": "object", "properties": {"a": {}}, "additionalProperties": false})", {"{}", R"({"a":1})"},
        {R"({"b":1})"});
}

BOOST_AUTO_TEST_CASE(what_nothing_evaluates) {
  check(
      R"({"type": "object", "allOf": [{"properties": {"a": {}}}], "properties": {"b": {}},
          "unevaluatedProperties": false})",
      {"{}", R"({"b":1,"a":1})"}, {R"({"c":1})"});
  check(R"({"type": "array", "prefixItems": [{"type": "null"}], "unevaluatedItems": false})", {"[]", "[null]"},
        {"[null,null]"});
}

BOOST_AUTO_TEST_CASE(keywords_that_no_draft_knows_say_nothing) {
  check(R"({"type": "object", "x-order": 3, "example": {"a": "no"}, "discriminator": {"propertyName": "a"},
            "properties": {"a": {"type": "integer", "nullable": true, "deprecated": true, "minimun": 3,
                                 "x-not": {"type": "null"}, "id": "a"}}, "required": ["a"],
            "allOf": [{"x-all": 1, "$comment": "none"}], "$id": "http://example.com/a", "$recursiveAnchor": false})",
        {R"({"a":1})"}, {R"({"a":null})", R"({"a":"no"})", "{}"});
  check(R"({"type": "string", "format": "shoe-size"})", {"\"a\"", "\"\""}, {"1"});
}

BOOST_AUTO_TEST_CASE(references_follow_the_ids_around_them) {
  check(R"({"$id": "http://example.com/root.json", "$ref": "http://example.com/nested/a.json#/$defs/x",
            "$defs": {"n": {"$id": "nested/a.json", "$defs": {"x": {"$ref": "../b.json#here"}}},
                      "b": {"$id": "b.json", "$defs": {"y": {"$anchor": "here", "type": "integer"}}},
                      "here": {"$anchor": "here", "type": "null"}}})",
        {"1"}, {"null", "\"a\""});
  check(R"({"properties": {"a": {"$id": "#/properties/a", "$ref": "#/definitions/n"}},
            "definitions": {"n": {"type": "null"}}, "required": ["a"]})",
        {R"({"a":null})"}, {R"({"a":1})"});
  check(R"({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://example.com/a",
            "$ref": "b#/definitions/n", "definitions": {"b": {"id": "b", "definitions": {"n": {"type": "null"}}}}})",
        {"null"}, {"1"});
  check(R"({"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n", "type": "null"}}})", {"null"}, {"1"});
  check(R"({"enum": [{"$ref": "#/$defs/n"}]})", {R"({"$ref":"#/$defs/n"})"}, {"null"});
  check(R"({"$ref": "#/x-parts/n", "x-parts": {"n": {"$ref": "#/x-parts/m"}, "m": {"type": "null"}}})", {"null"},
        {"1"});
}

BOOST_AUTO_TEST_CASE(draft_4_excludes_limits_by_flags) {
  check(R"({"type": "integer", "minimum": 3, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false})",
        {"4", "5"}, {"3", "6"});
}

BOOST_AUTO_TEST_CASE(recursive_schemas) {
  check(
      R"({"$defs": {"node": {"type": "object", "properties": {
            "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
            "required": ["next"], "additionalProperties": false}}, "$ref": "#/$defs/node"})",
      {R"({"next":null})", R"({"next":{"next":{"next":null}}})"}, {"{}", R"({"next":{}})", R"({"next":1})"});
}

BOOST_AUTO_TEST_CASE(formats_are_those_of_their_standards) {
  const auto quoted = [](const char* format) {
    return R"({"type": "string", "format": ")" + std::string(format) + "\"}";
  };
  check(quoted("date").c_str(), {"\"2024-12-31\"", "\"2023-02-28\""},
        {"\"2023-02-30\"", "\"2023-13-01\"", "\"2023-1-1\"", "\"2023-04-31\""});
  check(quoted("date-time").c_str(), {"\"2024-12-31T23:59:59Z\"", "\"2024-12-31T00:00:00.5+01:30\""},
        {"\"2024-12-31\"", "\"2024-12-31T24:00:00Z\""});
  check(quoted("ipv4").c_str(), {"\"127.0.0.1\"", "\"255.255.255.255\""},
        {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""});
  check(quoted("ipv6").c_str(), {"\"::\"", "\"::1\"", "\"1:2:3:4:5:6:7:8\"", "\"fe80::1:2\""},
        {"\"1::2::3\"", "\"12345::\"", "\":1\"", "\"1:2:3:4:5:6:7:8:9\""});
  check(quoted("uuid").c_str(), {"\"2EB8AA08-aa98-11ea-b4aa-73b441d16380\""}, {"\"2eb8aa08aa9811eab4aa73b441d16380\""});
  check(quoted("email").c_str(), {"\"joe.bloggs@example.com\""},
        {"\"joe\"", "\".joe@example.com\"", "\"a..b@example.com\""});
  check(quoted("idn-email").c_str(), {"\"joé@example.com\"", "\"실례@실례.테스트\""}, {"\"2962\"", "\"é@\""});
  check(quoted("idn-hostname").c_str(), {"\"실례.테스트\"", "\"a-b.example\"", "\"bücher.example\""},
        {"\"\"", "\"-é\"", "\"é-\"", "\"a--b\"", "\".\"", "\"ء\""});
  check(quoted("uri").c_str(),
        {"\"http://a.b/c?d#e\"", "\"mailto:joe@example.com\"", "\"urn:a:b\"", "\"file:///a\"", "\"http://u:p@a:80/\""},
        {"\"a\"", "\"/a\"", "\"http://a b\"", "\"http://a:b\"", "\"ü:a\"", "\"http://a/<\""});
  check(quoted("uri-reference").c_str(), {"\"a/b\"", "\"/a\"", "\"\"", "\"#a\"", "\"//a/b\"", "\"?a\"", "\"x:y\""},
        {"\"1:a\"", "\"a b\"", "\"\\\\a\""});
  check(quoted("iri").c_str(), {"\"http://ƒøø.ß/?∂=π#ü\""}, {"\"/ü\"", "\"âππ\"", "\"http://ü b\""});
  check(quoted("iri-reference").c_str(), {"\"ü/b\"", "\"âππ\""}, {"\"ü b\"", "\"#ƒräg\\\\mênt\""});
  check(quoted("uri-template").c_str(), {"\"http://a/{term:1}/{+term*,b}\"", "\"a\"", "\"{?a.b}\""},
        {"\"{a\"", "\"a}\"", "\"{}\"", "\"{!a}\"", "\"{a:0}\""});
  check(quoted("relative-json-pointer").c_str(), {"\"0\"", "\"12/a/b~1\"", "\"1#\""},
        {"\"/a\"", "\"01/a\"", "\"0##\"", "\"-1/a\"", "\"\""});
  check(quoted("regex").c_str(), {"\"^([abc])+\\\\s{2,}$\"", "\"a|b\"", "\"(?:a-z)*?\""},
        {"\"^(abc]\"", "\"*a\"", "\"\\\\a\"", "\"a**\"", "\"[b-a]\""});
  check(quoted("time").c_str(), {"\"23:59:59z\"", "\"00:00:00.1+01:00\""}, {"\"24:00:00Z\"", "\"00:00:00\""});
  check(quoted("date").c_str(), {"\"2024-02-29\"", "\"2000-02-29\"", "\"0004-02-29\""},
        {"\"1900-02-29\"", "\"2023-02-29\"", "\"0000-01-01\"", "\"2100-02-29\""});
}

BOOST_AUTO_TEST_SUITE_END()
