#include "answers/grammar/counted_repetition.hpp"
#include "grammar_testing.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace cogen;
using namespace cogen::grammar;

namespace data = boost::unit_test::data;

namespace {

std::string text_of(std::string_view part, std::uint64_t times) {
  std::string result;
  for (std::uint64_t i = 0; i < times; ++i) result += part;
  return result;
}

std::string bounds(repetition times) {
  const auto max = times.max == repetition::unlimited ? "" : std::to_string(times.max);
  return "{" + std::to_string(times.min) + "," + max + "}";
}

/// The texts of a format are `prefix`, a part so many times, and `suffix`.
void check(const response_format& format, repetition times, std::string_view part, const std::string& prefix = "",
           const std::string& suffix = "") {
  const auto grammar = compiled(format);
  const auto accepts_times = [&](std::uint64_t count) {
    return accepts(*grammar, prefix + text_of(part, count) + suffix);
  };
  BOOST_TEST_CONTEXT(format.text) {
    BOOST_TEST(accepts_times(times.min));
    if (times.min > 0) BOOST_TEST(!accepts_times(times.min - 1));
    if (times.max == repetition::unlimited) {
      BOOST_TEST(accepts_times(times.min + 1000));
      return;
    }
    BOOST_TEST(accepts_times(times.max));
    BOOST_TEST(accepts_times(times.min + (times.max - times.min) / 2));
    BOOST_TEST(!accepts_times(times.max + 1));
  }
}

const repetition many[] = {{0, 128},  {0, 129},      {1, 129},   {0, 255},
                           {2, 300},  {129, 129},    {200, 385}, {300, repetition::unlimited},
                           {0, 2000}, {1500, 20'000}};

}  // namespace

BOOST_AUTO_TEST_SUITE(repetitions)

BOOST_DATA_TEST_CASE(every_count_between_the_bounds_is_written, data::make({2, 3, 5}), at_once) {
  for (const repetition times :
       {repetition{0, 7}, {0, 26}, {0, 27}, {0, 28}, {5, 31}, {9, 9}, {8, 20}, {7, repetition::unlimited}}) {
    rule_list rules;
    const auto write = [](repetition few) { return repeated("\"ab\"", few); };
    rules.add("root", counted(write, times, static_cast<std::uint64_t>(at_once), rules));
    const auto grammar = compiler(shared_vocabulary()).compile_rules({rules.text()});
    for (std::uint64_t count = 0; count < 40; ++count)
      BOOST_TEST(accepts(*grammar, text_of("ab", count)) == (count >= times.min && count <= times.max),
                 count << " times by " << rules.text());
  }
}

BOOST_AUTO_TEST_CASE(patterns_and_lengths_repeat_often) {
  for (const auto times : many) {
    check(regex("[a-z]" + bounds(times)), times, "q");
    check(regex("x(?:ab|c)" + bounds(times) + "(?:y|z+)"), times, "ab", "x", "zz");
    const auto max = times.max == repetition::unlimited ? "" : ",\"maxLength\":" + std::to_string(times.max);
    check(json_schema(R"({"type":"string","minLength":)" + std::to_string(times.min) + max + "}"), times, "é", "\"",
          "\"");
    check(json_schema(R"({"type":"string","pattern":"^b[a-z]+$","minLength":)" + std::to_string(times.min + 2) +
                      (times.max == repetition::unlimited ? "" : ",\"maxLength\":" + std::to_string(times.max + 2)) +
                      "}"),
          times, "a", "\"bx", "\"");
  }
}

BOOST_AUTO_TEST_CASE(grammars_repeat_often) {
  for (const auto times : {repetition{0, 129}, {2, 300}, {300, repetition::unlimited}}) {
    check(ebnf("root ::= [a-z]" + bounds(times)), times, "q");
    check(ebnf("root ::= \"(\" (\"ab\" | item)" + bounds(times) + " \")\"\nitem ::= \"c\" \"d\"?"), times, "ab", "(",
          ")");
  }
}

BOOST_AUTO_TEST_CASE(items_and_members_repeat_often) {
  check(json_schema(R"({"type":"array","items":{"type":"null"},"minItems":200,"maxItems":700})"), {199, 699}, ",null",
        "[null", "]");
  const auto members = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":null";
    return "{" + text + "}";
  };
  const auto grammar = compiled(json_schema(
      R"({"type":"object","additionalProperties":{"type":"null"},"minProperties":150,"maxProperties":300})"));
  for (const auto count : {149, 150, 200, 300, 301})
    BOOST_TEST(accepts(*grammar, members(count)) == (count >= 150 && count <= 300), count);
  const repetition times{0, 5000};
  check(json_schema(R"({"type":"array","items":{"type":"string","maxLength":50000},"maxItems":5001})"), times, ",\"\"",
        "[\"\"", "]");
}

BOOST_AUTO_TEST_CASE(repetitions_repeat) {
  const auto grammar = compiled(regex("(?:[ab]{0,200},){150,160}"));
  for (const auto& [letters, items, valid] :
       {std::tuple{200, 150, true}, {201, 150, false}, {0, 160, true}, {1, 161, false}, {1, 149, false}})
    BOOST_TEST(accepts(*grammar, text_of(text_of("b", letters) + ",", items)) == valid, letters << " " << items);
}

BOOST_AUTO_TEST_CASE(masks_are_those_of_the_tokens) {
  const auto place = compiled(json_schema(R"({"type":"string","maxLength":300})"))->start();
  accept_bytes(*place, "\"");
  for (int step = 0; step <= 300; ++step) {
    const bool near = step % 128 < 4 || step % 128 > 122 || step > 290;
    if (near) BOOST_TEST(allowed(*place) == allowed_by_trying(*place), boost::test_tools::per_element());
    if (step < 300) place->accept('a');
  }
  BOOST_TEST(allowed(*place) == std::vector<token>{'"'}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
