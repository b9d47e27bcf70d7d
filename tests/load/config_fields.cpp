#include "formats/checkpoint/config_fields.hpp"

#include "formats/checkpoint/gguf.hpp"
#include "gguf_draft.hpp"
#include "memory_file.hpp"
#include "refusal.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

using namespace cogen::load;

namespace {

config_fields json(std::string_view text) { return config_fields::from_json(text, "config.json"); }

std::string json_refusal(std::string_view text) {
  return refusal([&] { json(text); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fields)

BOOST_AUTO_TEST_CASE(values_are_found_by_key_and_path) {
  const auto fields =
      json(R"({"model_type":"llama","a":{"b":{"c":7}},"x":-1.5,"t":true,"s":"text","n":null,"big":8192.0})");
  BOOST_TEST(fields.family() == "llama");
  BOOST_TEST(fields.integer("a.b.c", {0, 9}) == 7);
  BOOST_TEST(fields.integer("big", {0}) == 8192);
  BOOST_TEST(fields.real("x", {-2, 0}) == -1.5);
  BOOST_TEST(fields.real("a.b.c", {0, 9}) == 7.0);
  BOOST_TEST(fields.boolean("t", false));
  BOOST_TEST(fields.string("s") == "text");
  BOOST_TEST(!fields.has("n"));
  BOOST_TEST(!fields.has("s.more"));
  BOOST_TEST(!fields.has("a.b.c.d"));
  BOOST_TEST(fields.has("a.b"));
}

BOOST_AUTO_TEST_CASE(infinities_are_read_as_python_writes_them) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto fields =
      json(R"({"limits":[0.0,Infinity],"low":-Infinity,"text":"say \"Infinity\"","\\":1,"name":Infinity})");
  BOOST_TEST(fields.reals("limits", {0, infinity}) == (std::vector<double>{0, infinity}));
  BOOST_TEST(fields.real("low", {-infinity, 0}) == -infinity);
  BOOST_TEST(fields.string("text") == "say \"Infinity\"");
  BOOST_TEST(fields.real("name", {0, infinity}) == infinity);
  BOOST_CHECK_THROW(json(R"({"a":Infinit})"), load_error);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_refused_where_it_is_read) {
  const auto fields = json(R"({"theta":NaN,"loss":NaN,"size":8})");
  BOOST_TEST(fields.integer("size", {1}) == 8);
  BOOST_TEST(says(refusal([&] { fields.real("theta", {0}); }), "theta is"));
}

BOOST_AUTO_TEST_CASE(what_concerns_text_comes_first) {
  const auto fields =
      json(R"({"model_type":"outer","text_config":{"model_type":"inner","a":1,"n":null},"a":2,"b":3,"n":4})");
  BOOST_TEST(fields.family() == "outer");
  BOOST_TEST(fields.integer("a", {0}) == 1);
  BOOST_TEST(fields.integer("b", {0}) == 3);
  BOOST_TEST(fields.is_null("n"));
  BOOST_TEST(says(refusal([&] { fields.integer("a", {5}); }), "text_config.a is 1; an integer from 5"));
  BOOST_TEST(says(refusal([&] { fields.integer("b", {5}); }), ": b is 3; an integer from 5"));
  BOOST_TEST(says(refusal([&] { fields.integer("c", {5}); }), ": c is missing"));
  BOOST_TEST(json(R"({"text_config":7,"a":2})").integer("a", {0}) == 2);
}

BOOST_AUTO_TEST_CASE(an_absent_or_null_value_has_its_fallback) {
  const auto fields = json(R"({"n":null})");
  BOOST_TEST(fields.integer("n", {0}, 3) == 3);
  BOOST_TEST(fields.real("none", {0}, 0.5) == 0.5);
  BOOST_TEST(fields.boolean("n", true));
  BOOST_TEST(fields.string("n", "x") == "x");
  BOOST_TEST(fields.integers("n", {0}).empty());
  BOOST_TEST(fields.size("n") == 0U);
  BOOST_TEST(says(refusal([&] { fields.integer("n", {0}); }), "config.json: n is missing"));
  BOOST_TEST(says(refusal([&] { fields.string("none"); }), "config.json: none is missing"));
}

BOOST_AUTO_TEST_CASE(a_single_value_is_a_list_of_one) {
  const auto fields = json(R"({"one":2,"two":[2,5],"names":["a","b"],"reals":[1,2.5]})");
  BOOST_TEST(fields.integers("one", {0}) == (std::vector<std::int64_t>{2}), boost::test_tools::per_element());
  BOOST_TEST(fields.integers("two", {0}) == (std::vector<std::int64_t>{2, 5}), boost::test_tools::per_element());
  BOOST_TEST(fields.strings("names") == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
  BOOST_TEST(fields.reals("reals", {0}) == (std::vector<double>{1, 2.5}), boost::test_tools::per_element());
  BOOST_TEST(fields.size("two") == 2U);
  BOOST_TEST(fields.size("one") == 1U);
}

BOOST_AUTO_TEST_CASE(wrong_types_and_ranges_name_key_value_and_range) {
  const auto fields =
      json(R"({"i":7,"r":1.5,"s":"x","l":[1],"o":{},"mixed":[1,"a"],"huge":18446744073709551615,"b":true})");
  const auto integer = [&](std::string_view key) { return refusal([&] { fields.integer(key, {0, 5}); }); };
  BOOST_TEST(integer("i") == "config.json: i is 7; an integer from 0 to 5 is allowed");
  BOOST_TEST(says(integer("r"), "r is 1.5; an integer from 0 to 5"));
  BOOST_TEST(says(integer("s"), R"(s is "x"; an integer)"));
  BOOST_TEST(says(integer("l"), "l is [1]; a single value is allowed"));
  BOOST_TEST(says(integer("o"), "o is {}; a single value is allowed"));
  BOOST_TEST(says(integer("b"), "b is true; an integer"));
  BOOST_TEST(says(integer("huge"), "huge is 18446744073709551615; an integer"));
  BOOST_TEST(says(refusal([&] { fields.real("s", {0, 1}); }), "a number from 0 to 1 is allowed"));
  BOOST_TEST(says(refusal([&] { fields.real("i", {8}); }), "a finite number from 8 is allowed"));
  BOOST_TEST(says(refusal([&] { fields.boolean("i", true); }), "i is 7; true or false is allowed"));
  BOOST_TEST(says(refusal([&] { json(R"({"zero":0.0})").boolean("zero", true); }), "zero is 0; true or false"));
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  BOOST_TEST(says(refusal([&] { fields.integer("s", {lowest}); }), R"(s is "x"; an integer is allowed)"));
  BOOST_TEST(says(refusal([&] { fields.string("i"); }), "i is 7; a string is allowed"));
  BOOST_TEST(says(refusal([&] { fields.integers("mixed", {0}); }), R"(mixed is [1,"a"]; an integer from 0)"));
  BOOST_TEST(says(refusal([&] { fields.strings("o"); }), "a value or a list of values"));
  BOOST_TEST(says(refusal([&] { fields.refuse("i", "it must be odd and even"); }), "i is 7; it must be odd and even"));
}

BOOST_AUTO_TEST_CASE(floats_that_json_cannot_hold_are_read_as_transformers_writes_them) {
  const auto fields =
      json(R"({"inf":{"__float__":"Infinity"},"nan":{"__float__":"NaN"},"list":[0,{"__float__":"Infinity"}]})");
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  BOOST_TEST(fields.real("inf", {0, infinity}) == infinity);
  BOOST_TEST(fields.reals("list", {0, infinity})[1] == infinity);
  BOOST_TEST(says(refusal([&] { fields.real("inf", {0}); }), "a finite number from 0"));
  BOOST_TEST(says(refusal([&] { fields.real("nan", {-infinity, infinity}); }), "nan is"));
}

BOOST_AUTO_TEST_CASE(texts_that_are_no_plain_object_are_refused) {
  BOOST_TEST(says(json_refusal(""), "config.json: is not valid JSON"));
  BOOST_TEST(says(json_refusal("[]"), "config.json: is not JSON object"));
  BOOST_TEST(says(json_refusal("{"), "is not valid JSON at byte 1"));
  BOOST_TEST(says(json_refusal("{} x"), "has more after its JSON value"));
  BOOST_TEST(says(json_refusal(R"({"theta":nan})"), "is not valid JSON at byte"));
  BOOST_TEST(says(json_refusal(R"({"a":1,"b":{"c":1,"c":2}})"), "key 'c' is there twice"));
  BOOST_TEST(says(json_refusal("{\"a\":\"\xC0\xAF\"}"), "is not valid JSON"));
  std::string deep = R"({"a":)";
  deep += std::string(100'000, '[') + std::string(100'000, ']') + "}";
  BOOST_TEST(says(json_refusal(deep), "is not valid JSON at byte"));
  BOOST_TEST(says(refusal([] { json("{}").family(); }), "has no string 'model_type'"));
  BOOST_TEST(says(refusal([] { json(R"({"x":1e400})").real("x", {0}); }), "config.json"));
}

BOOST_AUTO_TEST_CASE(gguf_keys_are_the_architectures_own_first) {
  gguf_draft draft;
  draft.entries = {entry_text("general.architecture", "llama"),
                   entry_u32("llama.size", 3),
                   entry_u32("size", 4),
                   entry_u32("other", 5),
                   entry_text("text", "a'b"),
                   entry_texts("list", {"x", "y"}),
                   entry("large", 10, raw(~std::uint64_t{0}))};
  const memory_file written(draft.bytes());
  const gguf_file file(written.path());
  const auto fields = config_fields::from_gguf(file);
  BOOST_TEST(fields.family() == "llama");
  BOOST_TEST(fields.integer("size", {0}) == 3);
  BOOST_TEST(fields.integer("other", {0}) == 5);
  BOOST_TEST(fields.size("list") == 2U);
  BOOST_TEST(fields.strings("list")[1] == "y");
  BOOST_TEST(says(refusal([&] { fields.integer("size", {4, 9}); }), "llama.size is 3; an integer from 4 to 9"));
  BOOST_TEST(says(refusal([&] { fields.integer("none", {0}); }), "llama.none is missing"));
  BOOST_TEST(says(refusal([&] { fields.integer("text", {0}); }), R"(text is 'a\x27b')"));
  BOOST_TEST(says(refusal([&] { fields.integer("list", {0}); }), "list is an array of 2; a single value"));
  BOOST_TEST(says(refusal([&] { fields.integer("large", {0}); }), "large is 18446744073709551615"));
}

BOOST_AUTO_TEST_SUITE_END()
