#include "answers/grammar/regex_intersection.hpp"
#include "answers/grammar/regex_syntax.hpp"
#include "grammar_testing.hpp"

#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <regex>

using namespace cogen;
using namespace cogen::grammar;

namespace {

const std::string_view tried_texts[] = {"",   "a",    "b",     "ab",  "abc",     "aab",  "abab", "ba",   "1",
                                        "12", "123",  "a1",    "A",   "_",       "-",    "a-b",  " ",    "\t",
                                        "\n", "a\nb", "\"",    "\\",  "a\"b",    "]",    "[a]",  "^",    "$",
                                        "a$", "aaaa", "aaaaa", "aBc", "foo.bar", "x{2}", "xx",   "\x01", "a b"};

const char* const patterns[] = {"",
                                "a",
                                "a|b",
                                "a*",
                                "a+b?",
                                "(ab)*",
                                "(?:a|b){2,3}",
                                "[a-c]+",
                                "[^a]",
                                "[^a-z]*",
                                "\\d+",
                                "\\w*",
                                "\\s",
                                "\\S+",
                                "\\D\\W",
                                ".",
                                "a{2}",
                                "a{2,}",
                                "a{0,1}b",
                                "[\\]\\[a]+",
                                "[-a]+",
                                "[a\\-b]+",
                                "\\.",
                                "foo\\.bar",
                                "[\\d_]+",
                                "(a|)b",
                                "x\\{2\\}",
                                "\\x61",
                                "\\u0061b",
                                "(?<name>ab)c",
                                "a*?b",
                                "\"|\\\\",
                                "[\"\\\\]",
                                "\\n",
                                "(?=a).*",
                                "(?!a)[^]*",
                                "a(?=b).*",
                                "(?=.*a)(?=.*b).{2,3}",
                                "(?!.*b).*|1",
                                "(?!ab)[a-c]+",
                                "(?!a$)[ab]+",
                                "a(?!b)(?=.*b).*",
                                "a\\nb",
                                "()",
                                "((a)|(b))*",
                                "[\\n\\t]",
                                "[\\x00-\\x1f]"};

}  // namespace

BOOST_AUTO_TEST_SUITE(regexes)

BOOST_AUTO_TEST_CASE(the_same_texts_match_as_by_the_standard_library) {
  for (const auto* pattern : patterns) {
    const std::regex expected(std::string(pattern) == "(?<name>ab)c" ? "(ab)c" : pattern);
    const auto grammar = compiled(regex(pattern));
    const auto whole = parse_regex(pattern, regex_match::whole), search = parse_regex(pattern, regex_match::search);
    for (const auto text : tried_texts) BOOST_TEST_CONTEXT("pattern " << pattern << ", text " << text) {
        const std::string subject(text);
        BOOST_TEST(accepts(*grammar, text) == std::regex_match(subject, expected));
        BOOST_TEST(matches(whole, text) == std::regex_match(subject, expected));
        BOOST_TEST(matches(search, text) == std::regex_search(subject, expected));
      }
  }
}

BOOST_AUTO_TEST_CASE(patterns_of_schemas_search_in_strings_of_json) {
  for (const char* pattern : {"a", "^a", "a$", "^a$", "^(a|b)+$", "^a|b$", "^[^a]$", "\"", "^\\\\$", "\\s", "^.$",
                              "^\\n", "^(?!a)", "^(?=.*1)", "(?!a)b", "^(?!.*a)(?!.*b)", "b(?!.*a)$|^1"}) {
    const std::regex expected(pattern);
    boost::json::value schema = {{"type", "string"}, {"pattern", pattern}};
    const auto grammar = compiled(json_schema(boost::json::serialize(schema)));
    for (const auto text : tried_texts)
      BOOST_TEST(accepts(*grammar, boost::json::serialize(boost::json::value(text))) ==
                     std::regex_search(std::string(text), expected),
                 "pattern " << pattern << ", text " << text);
  }
}

BOOST_AUTO_TEST_CASE(characters_are_not_bytes) {
  for (const char* text : {"é", "😀", "中"}) BOOST_TEST(accepts(regex("."), text), text);
  BOOST_TEST(!accepts(regex("."), "ab"));
  BOOST_TEST(accepts(regex("[é-ü]{2}"), "éü"));
  BOOST_TEST(!accepts(regex("[é-ü]{2}"), "é"));
  BOOST_TEST(accepts(regex("\\uD83D\\uDE00"), "😀"));
  BOOST_TEST(accepts(regex("\\u{1F600}"), "😀"));
  BOOST_TEST(accepts(regex("\\cA"), "\x01"));
  BOOST_TEST(accepts(regex("[^a]"), "😀"));
  BOOST_TEST(!accepts(regex("[^a]"), "\xC3"));
  BOOST_TEST(!accepts(regex("[^a]"), "\xED\xA0\x80"));
}

BOOST_AUTO_TEST_CASE(repetitions_in_repetitions_are_kept_apart) {
  for (const char* pattern :
       {"x(ab+)?", "x(a+b)?", "x(ab+)*", "x(a|b+){2,}", "x(a*b){0,2}", "x(ab?)?", "(ab+)+x", "x((a?)b)+"}) {
    const std::regex expected(pattern);
    const auto grammar = compiled(regex(pattern));
    for (const char* text :
         {"x", "xa", "xb", "xab", "xabb", "xbb", "xaab", "xabab", "xaa", "xabbab", "abx", "abbabx", "bx", "x-"})
      BOOST_TEST(accepts(*grammar, text) == std::regex_match(text, expected),
                 "pattern " << pattern << ", text " << text);
  }
}

BOOST_AUTO_TEST_CASE(lengths_are_those_of_the_matches) {
  const auto lengths = [](const char* pattern) { return lengths_of(parse_regex(pattern, regex_match::whole)); };
  BOOST_CHECK((lengths("a|bcd") == repetition{1, 3}));
  BOOST_CHECK((lengths("(a|bc){2,3}d?") == repetition{2, 7}));
  BOOST_CHECK((lengths("a*") == repetition{0, repetition::unlimited}));
  BOOST_CHECK((lengths("(a{9999}){9999}") == repetition{99980001, 99980001}));
  BOOST_CHECK((lengths("") == repetition{0, 0}));
}

BOOST_AUTO_TEST_CASE(an_intersection_has_the_texts_that_all_match_and_none) {
  for (const auto* first : patterns)
    for (const auto* second : patterns) {
      const auto left = parse_regex(first, regex_match::whole), right = parse_regex(second, regex_match::search);
      const auto both = intersection({left, right}, {}), difference = intersection({left}, {right});
      for (const auto text : tried_texts) {
        const bool is_left = matches(left, text), is_right = matches(right, text);
        BOOST_TEST((both && matches(*both, text)) == (is_left && is_right), first << " and " << second << ": " << text);
        BOOST_TEST((difference && matches(*difference, text)) == (is_left && !is_right),
                   first << " but " << second << ": " << text);
      }
    }
}

BOOST_AUTO_TEST_CASE(properties_of_unicode_are_sets) {
  for (const auto& [pattern, text, matching] : {std::tuple{"\\p{L}+", "aÉ中", true},
                                                {"\\p{L}+", "a1", false},
                                                {"\\p{Lu}", "É", true},
                                                {"\\p{Lu}", "é", false},
                                                {"\\P{Lu}", "é", true},
                                                {"[\\p{Nd}_]+", "1٣_", true},
                                                {"\\p{gc=Decimal_Number}", "٣", true},
                                                {"\\p{ASCII}+", "a\n", true},
                                                {"\\p{ASCII}", "é", false},
                                                {"\\p{Any}", "中", true},
                                                {"\\p{Punctuation}", "¿", true},
                                                {"\\p{Sc}", "€", true},
                                                {"\\p{Assigned}", "中", true}}) {
    BOOST_TEST(matches(parse_regex(pattern, regex_match::whole), text) == matching, pattern << " " << text);
    BOOST_TEST(accepts(regex(pattern), text) == matching, pattern << " " << text);
  }
}

BOOST_AUTO_TEST_CASE(a_pattern_and_a_length_hold_together) {
  const auto schema = [](const char* pattern, int least, int most) {
    return json_schema(boost::json::serialize(
        boost::json::value{{"type", "string"}, {"pattern", pattern}, {"minLength", least}, {"maxLength", most}}));
  };
  BOOST_TEST(accepts(schema("^[a-z]+$", 2, 3), "\"ab\""));
  BOOST_TEST(!accepts(schema("^[a-z]+$", 2, 3), "\"a\""));
  BOOST_TEST(!accepts(schema("^[a-z]+$", 2, 3), "\"abcd\""));
  BOOST_TEST(accepts(schema("^x-", 3, 4), "\"x-a\""));
  BOOST_TEST(!accepts(schema("^x-", 3, 4), "\"x-\""));
  BOOST_TEST(accepts(schema("^a{2}$", 1, 5), "\"aa\""));
  for (const char* text : {"\"aab\"", "\"abb\"", "\"aaab\"", "\"aabb\""})
    BOOST_TEST(accepts(schema("^a+b+$", 3, 4), text), text);
  for (const char* text : {"\"ab\"", "\"aaa\"", "\"aaabb\"", "\"ba\""})
    BOOST_TEST(!accepts(schema("^a+b+$", 3, 4), text), text);
}

BOOST_AUTO_TEST_SUITE_END()
