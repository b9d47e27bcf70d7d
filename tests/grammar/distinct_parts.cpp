// Items and names that have to differ: what no grammar says, and the guides see to.
#include "answers/grammar/json_equality.hpp"
#include "answers/grammar/schema_document.hpp"
#include "answers/grammar/schema_validity.hpp"
#include "formats/json/parse.hpp"
#include "grammar_testing.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

using namespace cogen;
using namespace cogen::grammar;

namespace {

std::string spelled(std::string_view json) {
  json_speller speller;
  std::string result;
  for (const char byte : json) speller.read(byte, result);
  return result;
}

/// Schemas with few values, so that texts come to places where little is left.
constexpr const char* narrow_schemas[] = {
    R"({"type": "array", "uniqueItems": true, "items": {"type": "integer", "minimum": 0, "maximum": 11}})",
    R"({"type": "array", "uniqueItems": true, "minItems": 3, "items": {"type": "string", "pattern": "^a[bc]{1,2}$"}})",
    R"({"type": "array", "uniqueItems": true, "items": {"enum": ["a", "ab", "abc", 1, 12, null]}})",
    R"({"type": "array", "uniqueItems": true, "minItems": 2, "maxItems": 4, "items": {"type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"enum": [1, 2]}}, "required": ["b"]}})",
    R"({"type": "array", "uniqueItems": true, "items": {"type": "array", "maxItems": 2, "uniqueItems": true,
        "items": {"enum": [1, 2]}}})",
    R"({"type": "array", "uniqueItems": true, "items": {"type": "string", "maxLength": 1}, "maxItems": 6})",
    R"({"type": "array", "uniqueItems": true, "items": {"type": "number", "multipleOf": 0.5, "minimum": 1}})",
    R"({"type": "object", "properties": {"a": {"type": "boolean"}, "ab": {"const": 1}, "abc": {"const": 2},
        "b": {"const": 3}, "": {"const": 4}}, "additionalProperties": false, "required": ["b"]})",
    R"({"type": "object", "properties": {"a": {"const": 1}, "ab": {"const": 1}, "abc": {"const": 2}, "b": {"const": 3}},
        "patternProperties": {"^ab?$": {"type": "integer"}}, "additionalProperties": false, "minProperties": 2,
        "maxProperties": 3})",
    R"({"anyOf": [{"type": "object", "properties": {"a": {"const": 1}, "b": {}, "c": {}, "d": {}}, "required": ["a"],
        "additionalProperties": false}, {"type": "object", "properties": {"a": {"const": 2}, "b": {"type": "null"},
        "c": {"type": "null"}, "d": {"type": "null"}, "e": {"type": "null"}}, "additionalProperties": false}]})",
};

/// A walk among the tokens that a guide allows; those that open or go on with a string are taken less often.
class walk {
 public:
  walk(const compiled_grammar& grammar, unsigned seed) : place_(grammar.start()), random_(seed) {}

  /// Says whether it came to an end.
  bool run(int most) {
    for (int i = 0; i < most; ++i) {
      auto ids = allowed(*place_);
      BOOST_TEST_REQUIRE(!ids.empty(), text_);
      if (place_->is_complete() && random_() % 4 == 0) return true;
      std::erase(ids, end_token());
      if (ids.empty()) return true;
      step(ids[random_() % ids.size()]);
      if (random_() % 8 == 0) step_back();
      if (random_() % 8 == 0) place_ = place_->clone();
    }
    return false;
  }

  const std::string& text() const noexcept { return text_; }
  const std::vector<token>& tokens() const noexcept { return tokens_; }
  guide& place() noexcept { return *place_; }

 private:
  void step(token id) {
    place_->accept(id);
    tokens_.push_back(id);
    text_ += small_vocabulary().token_bytes(id);
  }

  void step_back() {
    const auto count = std::min(tokens_.size(), std::size_t{random_() % 3});
    place_->roll_back(static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      text_.resize(text_.size() - small_vocabulary().token_bytes(tokens_.back()).size());
      tokens_.pop_back();
    }
  }

  std::unique_ptr<guide> place_;
  std::mt19937 random_;
  std::vector<token> tokens_;
  std::string text_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(distinct_parts)

BOOST_AUTO_TEST_CASE(equal_values_are_the_same_canonically) {
  for (const auto& [left, right] : {std::pair("1", "1.0"),
                                    {"10", "1e1"},
                                    {"-0", "0.0"},
                                    {"0.50", "5E-1"},
                                    {"1e+2", "100"},
                                    {"[ 1, 2 ]", "[1,2.0]"},
                                    {"{\"a\":1,\"b\":[]}", "{ \"b\" : [ ], \"a\" : 1 }"},
                                    {"\"\\u0061\\/\"", "\"a/\""},
                                    {"{\"a\":1,\"a\":2}", "{\"a\":2}"}})
    BOOST_TEST(canonical_json(left) == canonical_json(right), left << " and " << right);
  for (const auto& [left, right] : {std::pair("1", "\"1\""),
                                    {"1", "-1"},
                                    {"[]", "{}"},
                                    {"[[1],2]", "[[1,2]]"},
                                    {"null", "\"null\""},
                                    {"\"a,b\"", "\"a\""},
                                    {"[1,2]", "[2,1]"},
                                    {"1e5", "1e6"}})
    BOOST_TEST(canonical_json(left) != canonical_json(right), left << " and " << right);
}

BOOST_AUTO_TEST_CASE(a_beginning_is_spelled_as_a_beginning) {
  for (const std::string_view text :
       {"{ \"a\\u00e9\\n\\\"\" : [ -0.50e+1 , 10.00, -1.05 ,true ], \"\\ud83d\\ude00\": 0 }", "-0"})
    for (std::size_t size = 0; size < text.size(); ++size)
      BOOST_TEST(spelled(text).starts_with(spelled(text.substr(0, size))), text.substr(0, size));
  BOOST_TEST(spelled(" [ 1.50 , \"\\u0061\\/\" ] ") == "[1.5,\"a/\"]");
}

BOOST_AUTO_TEST_CASE(items_of_all_kinds_are_distinct) {
  check(
      R"({"type": "array", "uniqueItems": true})",
      {"[]", "[1,\"1\",[1],{\"a\":1},null]", "[[1,1],[1]]", "[{\"a\":[2,2]},{\"a\":[2]}]"},
      {"[1,1]", "[1,1.0]", "[1, 2 , 1 ]", "[[1],[ 1 ]]", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]", "[null,true,null]"});
  check(R"({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true, "items": {"type": "object",
            "properties": {"n": {"type": "integer"}, "t": {"type": "array", "uniqueItems": true}}, "required": ["n"]}}},
            "required": ["a"]})",
        {R"({"a":[{"n":1},{"n":2},{"n":12,"t":[1,2]},{"n":12,"t":[2,1]}]})"},
        {R"({"a":[{"n":1},{"n":1}]})", R"({"a":[{"n":1,"t":[1,1]}]})", R"({"a":[{"n":1,"t":[]},{"t":[],"n":1}]})"});
  check(R"({"type": "array", "uniqueItems": true, "prefixItems": [{"const": 1}], "items": {"type": "integer"}})",
        {"[1,2,3]"}, {"[1,1]", "[1,2,2]"});
  check(R"({"type": "array", "uniqueItems": true, "contains": {"const": 5}, "items": {"type": "integer"}})",
        {"[5]", "[1,5,2]"}, {"[1,2]", "[5,5]", "[1,5,1]"});
  check(R"({"type": "array", "uniqueItems": true, "minItems": 3, "items": {"enum": [1, 2, 3, 4, 5, 6, 7]}})",
        {"[7,1,4]", "[3,2,1,4,5,6,7]"}, {"[7,1,7]", "[1,2]", "[3,2,1,4,5,6,7,1]"});
}

BOOST_AUTO_TEST_CASE(optional_properties_come_in_any_order) {
  const auto* schema = R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}, "c": {"type": "null"},
      "d": {}, "e": {}, "f": {}}, "required": ["b", "e"], "additionalProperties": false})";
  check(schema,
        {R"({"b":1,"e":1})", R"({"f":1,"b":1,"d":2,"e":1,"a":3})", R"({"b":1,"e":1,"d":1,"c":null,"a":1,"f":1})"},
        {R"({"e":1,"b":1})", R"({"b":1})", R"({"b":1,"e":1,"a":1,"a":2})", R"({"a":1,"b":1,"a":1,"e":2})",
         R"({"b":1,"e":1,"g":1})", R"({"b":1,"e":1,"a":null})", R"({"b":1,"b":1,"e":1})", R"({"b":1,"e":1,})"});
  check(R"({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"], "additionalProperties": false})",
        {R"({"a":1,"b":1})", R"({"b":1,"a":1})", R"({"b":1})"}, {R"({"a":1})", R"({"b":1,"a":1,"a":1})"});
  const auto place = compiled(json_schema(schema))->start();
  accept_bytes(*place, R"({"f":1,"b":2,"a":3,"c":null,"e":4,"d":)");
  place->accept('5');
  BOOST_TEST(!std::ranges::count(allowed(*place), token{','}));
}

BOOST_AUTO_TEST_CASE(names_may_match_some_patterns_and_not_others) {
  check(R"({"type": "object", "patternProperties": {"^a": {"type": "integer"}, "b$": {"maximum": 5}}})",
        {R"({"a":9,"b":"x","ab":5})", R"({"c":null})"}, {R"({"ab":6})", R"({"a":null})", R"({"b":6})"});
  check(R"({"type": "object", "patternProperties": {"^x-": {}}, "additionalProperties": {"type": "integer"},
            "properties": {"x-a": {"type": "null"}}})",
        {R"({"x-b":"s","y":1,"x-a":null})"}, {R"({"x-a":1})", R"({"y":null})"});
  check(R"({"type": "object", "patternProperties": {"^f": {}, "^b": false}})", {R"({"foo":1})"},
        {R"({"bar":1})", R"({"foo":1,"bar":1})"});
  check(R"({"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 3})",
        {R"({"a":null,"b":null,"c":null})"}, {R"({"a":null,"b":null})", R"({"a":null,"b":null,"a":null})"});
}

BOOST_AUTO_TEST_CASE(a_text_always_has_a_way_on_and_ends_valid) {
  int ends = 0;
  for (const char* schema : narrow_schemas) BOOST_TEST_CONTEXT(schema) {
      const auto grammar = compiled(json_schema(schema));
      const schema_document document(boost::json::parse(schema));
      for (unsigned seed = 0; seed < 20; ++seed) {
        walk path(*grammar, seed);
        if (!path.run(80)) continue;
        ++ends;
        BOOST_TEST(is_valid(document, document.root(), cogen::json::parse_with_unique_keys(path.text(), "the text")),
                   path.text());
      }
    }
  BOOST_TEST(ends > 60);
}

BOOST_AUTO_TEST_CASE(a_guide_allows_what_it_accepts_wherever_it_comes_from) {
  for (const char* schema : narrow_schemas) BOOST_TEST_CONTEXT(schema) {
      const auto grammar = compiled(json_schema(schema));
      for (unsigned seed = 100; seed < 103; ++seed) {
        walk path(*grammar, seed);
        path.run(7 + static_cast<int>(seed % 3) * 9);
        const auto straight = grammar->start();
        for (const auto id : path.tokens()) straight->accept(id);
        BOOST_TEST_INFO(path.text());
        BOOST_TEST(allowed(*straight) == allowed(path.place()), boost::test_tools::per_element());
        BOOST_TEST_INFO(path.text());
        BOOST_TEST(allowed(*straight) == allowed_by_trying(*straight), boost::test_tools::per_element());
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
