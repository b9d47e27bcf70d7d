#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/unquoted_text.hpp"
#include "grammar_testing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace cogen;
using namespace cogen::grammar;

namespace {

constexpr std::string_view end = "<a>";

std::shared_ptr<const compiled_grammar> grammar_of(const regex_node& texts) {
  rule_list rules;
  rules.add("root", add_unquoted_text(texts, {end, literal(end)}, rules));
  static compiler grammars(shared_vocabulary());
  return grammars.compile_rules({rules.text()});
}

/// What a reader takes for the text in what was written before the end.
std::string_view text_in(std::string_view written) {
  if (written.starts_with('\n')) written.remove_prefix(1);
  if (written.ends_with('\n')) written.remove_suffix(1);
  return written;
}

bool is_valid(const regex_node& texts, const std::string& written) {
  return (written + std::string(end)).find(end) == written.size() && matches(texts, text_in(written));
}

/// Calls `check` with each text of up to so many characters of the end and others.
template <class Check>
void for_each_text(std::size_t longest, const Check& check, const std::string& begin = "") {
  check(begin);
  if (begin.size() < longest)
    for (const char next : {'<', 'a', '>', '\n', 'b'}) for_each_text(longest, check, begin + next);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unquoted_texts)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_as_a_valid_text) {
  for (const auto* pattern : {"", "[^]*", "[^]{2,3}", "[^b]{0,2}", "a*", "(?:a|<a)*b?", "<<?a", "[<a]+>?", "\\n*a?\\n*",
                              "(?:(?:a*)*|b)*", "(?:[^]a){2,}"}) {
    const auto texts = parse_regex(pattern, regex_match::whole);
    const auto grammar = grammar_of(texts);
    for_each_text(5, [&](const std::string& written) {
      const bool found = accepts(*grammar, written + std::string(end));
      if (found != is_valid(texts, written)) BOOST_TEST(false, pattern << " accepts " << found << ": " << written);
    });
  }
}

BOOST_AUTO_TEST_CASE(long_texts_do_not_hold_the_beginning_of_the_end) {
  const auto grammar = grammar_of(parse_regex("[^]{0,200}", regex_match::whole));
  const auto allows = [&](const std::string& written) { return accepts(*grammar, written + std::string(end)); };
  BOOST_TEST(allows(std::string(200, 'b')));
  BOOST_TEST(allows("\n" + std::string(199, '<') + "\n\n"));
  BOOST_TEST(!allows(std::string(201, 'b')));
  BOOST_TEST(!allows("b<ab"));
}

BOOST_AUTO_TEST_CASE(texts_that_hold_the_end_are_none) {
  BOOST_CHECK_THROW(grammar_of(parse_regex("x?<a>[^]*", regex_match::whole)), grammar_error);
  BOOST_CHECK_THROW(grammar_of(parse_regex("[^]{0,9999}", regex_match::whole)), grammar_error);
  BOOST_TEST(accepts(*grammar_of(parse_regex("<a>|<a", regex_match::whole)), "<a<a>"));
}

BOOST_AUTO_TEST_SUITE_END()
