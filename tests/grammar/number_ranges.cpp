#include "answers/grammar/number_range.hpp"
#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace cogen;
using namespace cogen::grammar;

namespace {

/// Numbers around the bounds of the tests, in spellings that differ.
std::vector<std::string> spellings() {
  std::vector<std::string> result;
  for (const char* sign : {"", "-"})
    for (const char* whole : {"0", "1", "2", "9", "10", "11", "19", "20", "99", "100", "101", "120", "999", "1000"})
      for (const char* fraction : {"", ".0", ".00", ".04", ".05", ".049", ".5", ".50", ".51", ".95", ".99", ".999"})
        result.push_back(sign + std::string(whole) + fraction);
  return result;
}

bool is_integer_text(const std::string& text) { return text.find('.') == std::string::npos && text != "-0"; }

std::string bound_text(std::mt19937& random, bool integer) {
  static const char* const decimals[] = {"-100.5", "-10",  "-0.05", "0",    "0.049", "0.5", "0.95",
                                         "1",      "9.99", "10",    "10.5", "99",    "120"};
  static const char* const integers[] = {"-1000", "-101", "-20", "-1", "0", "1", "9", "10", "19", "100", "999"};
  return integer ? integers[random() % std::size(integers)] : decimals[random() % std::size(decimals)];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(number_ranges)

BOOST_AUTO_TEST_CASE(decimals_are_read_exactly) {
  const auto text_of = [](const char* json) { return decimal::parse(json)->text(); };
  BOOST_TEST(text_of("-0") == "0");
  BOOST_TEST(text_of("100") == "100");
  BOOST_TEST(text_of("1.500") == "1.5");
  BOOST_TEST(text_of("1.5e2") == "150");
  BOOST_TEST(text_of("15E-3") == "0.015");
  BOOST_TEST(text_of("-0.25e+1") == "-2.5");
  BOOST_TEST(!decimal::parse("1e100"));
  BOOST_TEST(!decimal::parse("1e-100"));
}

BOOST_AUTO_TEST_CASE(decimals_are_ordered) {
  const char* const ascending[] = {"-100", "-20.5", "-20", "-0.5", "-0.05", "0",    "0.049",
                                   "0.05", "0.5",   "1",   "9.9",  "10",    "10.01"};
  for (std::size_t i = 0; i < std::size(ascending); ++i)
    for (std::size_t j = 0; j < std::size(ascending); ++j)
      BOOST_TEST((*decimal::parse(ascending[i]) < *decimal::parse(ascending[j])) == (i < j));
}

BOOST_AUTO_TEST_CASE(exactly_the_numbers_between_the_bounds_are_accepted) {
  std::mt19937 random(5);
  const auto texts = spellings();
  for (int round = 0; round < 120; ++round) {
    const bool integer = random() % 2 == 0;
    const auto least = bound_text(random, integer), most = bound_text(random, integer);
    const bool has_least = random() % 4 != 0, has_most = random() % 4 != 0;
    const bool min_excluded = random() % 2 == 0, max_excluded = random() % 2 == 0;
    std::string schema = R"({"type": ")" + std::string(integer ? "integer" : "number") + "\"";
    if (has_least) schema += std::string(min_excluded ? R"(, "exclusiveMinimum": )" : R"(, "minimum": )") + least;
    if (has_most) schema += std::string(max_excluded ? R"(, "exclusiveMaximum": )" : R"(, "maximum": )") + most;
    schema += "}";
    BOOST_TEST_CONTEXT(schema) {
      const auto inside = [&](double value) {
        if (has_least && (min_excluded ? value <= std::stod(least) : value < std::stod(least))) return false;
        return !has_most || (max_excluded ? value < std::stod(most) : value <= std::stod(most));
      };
      if (!refusal(json_schema(schema)).empty()) {
        for (const auto& text : texts)
          if (!integer || is_integer_text(text)) BOOST_TEST(!inside(std::stod(text)));
        continue;
      }
      const auto grammar = compiled(json_schema(schema));
      for (const auto& text : texts) {
        const bool is_minus_zero = text.starts_with("-") && std::stod(text) == 0;
        const bool expected = inside(std::stod(text)) && (!integer || is_integer_text(text)) && !is_minus_zero;
        if (is_minus_zero && !has_least && !has_most) continue;
        BOOST_TEST(accepts(*grammar, text) == expected, text);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(multiples_are_accepted) {
  for (const int factor : {1, 2, 3, 7, 10, 12, 25, 100}) {
    const auto grammar = compiled(json_schema(R"({"type": "integer", "multipleOf": )" + std::to_string(factor) + "}"));
    for (int value = -150; value <= 350; ++value)
      BOOST_TEST(accepts(*grammar, std::to_string(value)) == (value % factor == 0), factor << ' ' << value);
  }
}

BOOST_AUTO_TEST_CASE(multiples_with_fractions_are_accepted) {
  const auto quarters = compiled(json_schema(R"({"type": "number", "multipleOf": 0.25})"));
  for (int hundredths = 0; hundredths <= 400; ++hundredths) {
    auto digits = std::to_string(hundredths % 100);
    if (digits.size() < 2) digits.insert(0, "0");
    const auto text = std::to_string(hundredths / 100) + "." + digits;
    BOOST_TEST(accepts(*quarters, text) == (hundredths % 25 == 0), text);
  }
  for (const char* text : {"0", "7", "1.5", "-2.75", "0.250", "3.0"}) BOOST_TEST(accepts(*quarters, text), text);
  for (const char* text : {"0.2", "0.251", "1.55", "01.5"}) BOOST_TEST(!accepts(*quarters, text), text);
}

BOOST_AUTO_TEST_CASE(multiples_between_bounds_are_listed) {
  const auto grammar =
      compiled(json_schema(R"({"type": "integer", "multipleOf": 5, "exclusiveMinimum": -10, "maximum": 10})"));
  for (int value = -20; value <= 20; ++value)
    BOOST_TEST(accepts(*grammar, std::to_string(value)) == (value % 5 == 0 && value > -10 && value <= 10), value);
}

BOOST_AUTO_TEST_CASE(multiples_that_end_alike_have_any_bounds) {
  const auto accepted = [](const char* schema, std::initializer_list<const char*> texts, bool expected) {
    for (const auto* text : texts) BOOST_TEST(accepts(json_schema(schema), text) == expected, schema << ' ' << text);
  };
  const auto* amount = R"({"type": "number", "multipleOf": 0.01, "minimum": 0, "maximum": 99999999999.99})";
  accepted(amount, {"0", "0.01", "10000.8", "99999999999.99", "7.10", "7.100"}, true);
  accepted(amount, {"0.001", "-0.01", "-1", "100000000000", "7.101", "99999999999.991"}, false);
  const auto* quarters = R"({"type": "number", "multipleOf": 2.5, "exclusiveMinimum": -5})";
  accepted(quarters, {"-2.5", "0", "2.5", "105", "1007.50", "10.0"}, true);
  accepted(quarters, {"-5", "-7.5", "1", "2.55", "103.5"}, false);
  const auto* hundreds = R"({"type": "integer", "multipleOf": 12.5, "minimum": 100, "maximum": 100000})";
  accepted(hundreds, {"100", "125", "1000", "99975"}, true);
  accepted(hundreds, {"75", "110", "112", "100025", "0"}, false);
  const auto* several = R"({"type": "integer", "allOf": [{"multipleOf": 2}, {"multipleOf": 3}, {"multipleOf": 0.5}]})";
  accepted(several, {"0", "6", "-12", "600"}, true);
  accepted(several, {"2", "3", "9", "100"}, false);
}

BOOST_AUTO_TEST_SUITE_END()
