#include "answers/response/delimited_text.hpp"
#include "answers/response/delimiter_pattern.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

using namespace cogen::response;

namespace {

/// The text before the first delimiter, what that captured, and what is left; "none" where there is no delimiter.
std::string split(const delimiter& looked_for, std::string_view text) {
  delimited_text reading;
  reading.begin({&looked_for}, false);
  for (std::size_t position = 0; position < text.size(); ++position)
    if (const auto end = reading.step(text[position])) {
      const auto text_before = reading.take();
      return text_before + "|" + end->name + "|" + end->id + "|" +
             std::string(text.substr(position + (end->ends_early ? 0 : 1)));
    }
  return "none";
}

std::string refusal_of_pattern(std::string_view pattern) {
  try {
    delimiters_of_pattern(pattern);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delimiters)

BOOST_AUTO_TEST_CASE(a_text_ends_at_its_delimiter) {
  const auto tag = delimiter_of("<tool_call>");
  BOOST_TEST(split(tag, "a<tool_call>b") == "a|||b");
  BOOST_TEST(split(tag, "<<tool_<tool_call>") == "<<tool_|||");
  BOOST_TEST(split(tag, "<tool_call") == "none");
}

BOOST_AUTO_TEST_CASE(white_space_in_a_delimiter_is_any_or_none) {
  const auto tags = delimiter_of("<a>\n<b>");
  for (const auto* text : {"x<a><b>y", "x<a>\n<b>y", "x<a> \t\r\n <b>y"}) BOOST_TEST(split(tags, text) == "x|||y");
  BOOST_TEST(split(tags, "<a> <a> <b>") == "<a>|||");
}

BOOST_AUTO_TEST_CASE(white_space_before_a_delimiter_belongs_to_it) {
  BOOST_TEST(split(delimiter_of(" <a> "), "x \n y \n <a>") == "x \n y|||");
}

BOOST_AUTO_TEST_CASE(names_and_ids_are_captured) {
  BOOST_TEST(split(delimiter_of("call {name}:{id}("), "call a.b-c_1:22(x") == "|a.b-c_1|22|x");
  BOOST_TEST(split(delimiter_of("<call>{name}"), "<call>é\nx") == "|é||\nx");
  BOOST_TEST(split(delimiter_of("<call>{name}>"), "<call>>") == "none");
  const std::string longest(delimiter_matcher::max_name_bytes, 'n');
  BOOST_TEST(split(delimiter_of("[{name}]"), "[" + longest + "]") == "|" + longest + "||");
  BOOST_TEST(split(delimiter_of("[{name}]"), "[" + longest + "n]") == "none");
}

BOOST_AUTO_TEST_CASE(the_delimiter_that_ends_first_counts) {
  const auto longer = delimiter_of("<a><b>"), shorter = delimiter_of("<a>"), inner = delimiter_of("a>");
  delimited_text reading;
  reading.begin({&longer, &inner, &shorter}, false);
  std::optional<delimited_text::end> end;
  for (const char byte : std::string_view("<a>"))
    if (!end) end = reading.step(byte);
  BOOST_REQUIRE(end.has_value());
  BOOST_TEST(end->which == 2u);
}

BOOST_AUTO_TEST_CASE(patterns_are_delimiters) {
  BOOST_TEST((delimiters_of_pattern(R"(\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>)") ==
              std::vector<delimiter>{delimiter_of("<tool_call> <function={name}>")}));
  BOOST_TEST((delimiters_of_pattern(R"(\s*(?:<\|im_end\|>|<\|eot\|>))") ==
              std::vector<delimiter>{delimiter_of("<|im_end|>"), delimiter_of("<|eot|>")}));
  BOOST_TEST((delimiters_of_pattern(R"(call:(?P<name>\w+))") == std::vector<delimiter>{delimiter_of("call:{name}")}));
  const auto around = delimiters_around_value(R"(<p=(?P<key>[^>]+)>\s*(?P<value>.*?)\s*</p>)");
  BOOST_TEST((around.first == delimiter_of("<p={name}>") && around.second == delimiter_of("</p>")));
}

BOOST_AUTO_TEST_CASE(other_patterns_are_refused_by_name) {
  for (const auto* pattern : {"", "\\s*", "a*", "a.b", "(a)", "(?:a", "a)", "\\d", "a|", "[ab]", "^a", "(?P<name>a)"})
    BOOST_TEST(refusal_of_pattern(pattern).find("response_template: the pattern '") == 0u, pattern);
}

BOOST_AUTO_TEST_SUITE_END()
