#include "formats/text/pattern.hpp"
#include "formats/text/replacing.hpp"
#include "formats/text/splitting.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace {

using namespace cogen::text;
using strings = std::vector<std::string>;

strings found(std::string_view source, std::string_view text) {
  strings parts;
  for (auto match : pattern(source).matches(text)) parts.emplace_back(match.slice(text));
  return parts;
}

strings pieces(std::string_view source, std::string_view text, split_behavior behavior, bool invert = false) {
  strings parts;
  for (auto piece : split_at(pattern(source).matches(text), text.size(), behavior, invert))
    parts.emplace_back(piece.slice(text));
  return parts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(patterns)

BOOST_AUTO_TEST_CASE(white_space_is_that_of_unicode) {
  BOOST_TEST(found("\\s", "a\u180Eb\u0085c\u3000d").size() == 2u);
  BOOST_TEST(found("[^\\S\\n]+", " \n\t\u2003\n") == (strings{" ", "\t\u2003"}));
  BOOST_TEST(found("\\S+", "a\u00A0b") == (strings{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(word_characters_are_those_of_unicode) {
  BOOST_TEST(found("\\w+", "né\u0301_1-Ⓐ") == (strings{"né\u0301_1", "Ⓐ"}));
  BOOST_TEST(found("[^\\w]", "a!b").size() == 1u);
}

BOOST_AUTO_TEST_CASE(code_points_may_be_written_as_in_ruby) {
  BOOST_TEST(found("[\\u4e00-\\u9fff]+", "a漢字b") == strings{"漢字"});
  BOOST_TEST(found("\\h+", "12fgh") == strings{"12f"});
}

BOOST_AUTO_TEST_CASE(an_empty_match_is_not_at_the_end_of_another) {
  BOOST_TEST(found("x*", "axxbé") == (strings{"", "xx", "", ""}));
  BOOST_TEST(found("", "aé") == (strings{"", "", ""}));
  BOOST_TEST(found("$", "é\nb") == (strings{"", ""}));
  BOOST_TEST(found("a*", "").empty());
}

// As `tokenizers` 0.23 does, in all behaviors.
BOOST_AUTO_TEST_CASE(empty_matches_split) {
  using enum split_behavior;
  for (const auto behavior : {isolated, removed, merged_with_previous, merged_with_next, contiguous}) {
    for (const bool invert : {false, true}) {
      const auto split = [&](std::string_view source, std::string_view text) {
        return pieces(source, text, behavior, invert);
      };
      const bool keeps_none = behavior == removed && invert;
      const auto expected = [&](const strings& parts) { return keeps_none ? strings() : parts; };
      BOOST_TEST(split("(?=(\\d{3})+(?!\\d))", "a1234567 89") == expected({"a1", "234", "567 89"}));
      BOOST_TEST(split("(?<=[a-z])(?=[A-Z])", "aBcDé") == expected({"a", "Bc", "Dé"}));
      BOOST_TEST(split("\\b", "a b") == expected({"a", " ", "b"}));
      BOOST_TEST(split("^|$", "a\nb") == expected({"a", "\n", "b"}));
    }
  }
  BOOST_TEST(pieces("x*", "axxbé", isolated) == (strings{"a", "xx", "b", "é"}));
  BOOST_TEST(pieces("x*", "axxbé", removed) == (strings{"a", "b", "é"}));
  BOOST_TEST(pieces("x*", "axxbé", removed, true) == strings{"xx"});
  BOOST_TEST(pieces("x*", "axxbé", merged_with_previous) == (strings{"axx", "b", "é"}));
  BOOST_TEST(pieces("x*", "axxbé", merged_with_previous, true) == (strings{"a", "xxb", "é"}));
  BOOST_TEST(pieces("x*", "axxbé", merged_with_next) == (strings{"a", "xxb", "é"}));
}

BOOST_AUTO_TEST_CASE(empty_matches_are_replaced) {
  const auto replaced = [](const std::string& source, std::string_view text) {
    text_budget budget(text.size());
    return replacement({source, true, "_"})(text, budget);
  };
  BOOST_TEST(replaced("^", "ab") == "_ab");
  BOOST_TEST(replaced("$", "ab") == "ab_");
  BOOST_TEST(replaced("\\b", "ab cd") == "_ab_ _cd_");
  BOOST_TEST(replaced("x*", "axb") == "_a_b_");
  BOOST_TEST(replaced("(?=[A-Z])", "aBcD") == "a_Bc_D");
}

BOOST_AUTO_TEST_CASE(what_has_no_equivalent_is_refused) {
  for (auto source : {"[a&&b]", "[a[b]]", "[\\W]", "(", "a{2,1}", "\\C", "[b-a]"}) {
    BOOST_CHECK_THROW(pattern{source}, std::invalid_argument);
  }
  BOOST_CHECK_THROW(pattern(std::string(pattern::max_source_bytes + 1, 'a')), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_literal_matches_itself_only) {
  std::string literal = "a.b*[c]\\d(é)^$|";
  BOOST_TEST(found(escaped_pattern(literal), "x" + literal + "axb") == strings{literal});
}

BOOST_AUTO_TEST_CASE(a_long_text_needs_no_more_than_its_own_length) {
  BOOST_TEST(found("\\s*\\n|\\s+(?!\\S)|\\s+", std::string(3'000'000, ' ')).size() == 1u);
  BOOST_TEST(found("(?:a|b)+", std::string(200'000, 'a')).size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_endless_search_is_given_up) {
  BOOST_CHECK_THROW(found("(x+x+)+[yz]", std::string(100, 'x')), std::runtime_error);
  BOOST_CHECK_THROW(found("(?:(a)|b|ab)*[cd]", std::string(3'000'000, 'a')), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(each_behavior_treats_matches_its_own_way) {
  using enum split_behavior;
  constexpr std::string_view text = "a--b-";
  BOOST_TEST(pieces("-", text, removed) == (strings{"a", "b"}));
  BOOST_TEST(pieces("-", text, isolated) == (strings{"a", "-", "-", "b", "-"}));
  BOOST_TEST(pieces("-", text, contiguous) == (strings{"a", "--", "b", "-"}));
  BOOST_TEST(pieces("-", text, merged_with_previous) == (strings{"a-", "-", "b-"}));
  BOOST_TEST(pieces("-", text, merged_with_next) == (strings{"a", "-", "-b", "-"}));
  BOOST_TEST(pieces("[a-z]", text, removed, true) == (strings{"a", "b"}));
}

BOOST_AUTO_TEST_SUITE_END()
