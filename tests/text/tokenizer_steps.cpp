// Single steps of tokenizers, and the tables behind them.
#include "../test_data.hpp"
#include "formats/text/base64.hpp"
#include "formats/text/byte_trie.hpp"
#include "formats/text/character_filters.hpp"
#include "formats/text/charsmap.hpp"
#include "formats/text/digit_groups.hpp"
#include "formats/text/graphemes.hpp"
#include "formats/text/pattern.hpp"
#include "formats/text/scripts.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/token_decoder.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

BOOST_AUTO_TEST_SUITE(tokenizer_steps)
namespace {

using namespace cogen::text;
using strings = std::vector<std::string>;

strings parts_of(std::string_view text, const std::vector<range>& ranges) {
  strings parts;
  for (auto where : ranges) parts.emplace_back(where.slice(text));
  return parts;
}

charsmap small_charsmap(charsmap_step::matching mode) {
  std::ifstream file(cogen::test::test_data() / "text/corpus/charsmap/rules.bin", std::ios::binary);
  return charsmap({{std::istreambuf_iterator<char>(file), {}}, mode});
}

}  // namespace

BOOST_AUTO_TEST_CASE(base64_is_decoded_or_refused) {
  BOOST_TEST(decoded_base64("").value() == "");
  BOOST_TEST(decoded_base64("TQ==").value() == "M");
  BOOST_TEST(decoded_base64("TWE=").value() == "Ma");
  BOOST_TEST(decoded_base64("TWFu").value() == "Man");
  BOOST_TEST(decoded_base64("/+7d").value() == "\xFF\xEE\xDD");
  for (auto wrong : {"T", "TWF", "TWF?", "T===", "TW=u", "TW u"}) BOOST_TEST(!decoded_base64(wrong).has_value());
}

BOOST_AUTO_TEST_CASE(a_trie_finds_the_longest_string_from_any_node) {
  byte_trie trie;
  for (std::size_t i = 0; i < 1000; ++i) trie.insert(std::to_string(i), i);
  trie.insert("7", 5000);
  BOOST_TEST(trie.longest_prefix("1234").value().value == 123U);
  BOOST_TEST(trie.longest_prefix("7x").value().value == 7U);
  BOOST_TEST(!trie.longest_prefix("x").has_value());
  const auto two = trie.find("2");
  BOOST_TEST(trie.longest_prefix("345", two.value()).value().length == 2U);
  BOOST_TEST(!trie.find("1234").has_value());
  BOOST_TEST(byte_trie().find("").value() == byte_trie::root);
  BOOST_TEST(!byte_trie().longest_prefix("a").has_value());
}

BOOST_AUTO_TEST_CASE(filters_treat_each_character_alone) {
  using enum character_filter;
  BOOST_TEST(filtered(std::string_view("a\0\u200D\uFFFD\t\u3000b", 13), clean) == "a  b");
  BOOST_TEST(filtered("a\u4E00\u3042", space_ideographs) == "a \u4E00 \u3042");
  BOOST_TEST(filtered("e\u0301\u0903\u20DD", remove_nonspacing_marks) == "e\u0903\u20DD");
  BOOST_TEST(filtered("e\u0301\u0903\u20DD", remove_marks) == "e");
}

BOOST_AUTO_TEST_CASE(graphemes_keep_marks_and_line_ends_together) {
  BOOST_TEST(first_grapheme("e\u0301x") == 3U);
  BOOST_TEST(first_grapheme("\r\n\n") == 2U);
  BOOST_TEST(first_grapheme("\U0001F468\u200D\U0001F469 ") == 11U);
  BOOST_TEST(first_grapheme("a") == 1U);
}

BOOST_AUTO_TEST_CASE(a_charsmap_replaces_the_longest_prefix_or_by_grapheme) {
  const auto longest = small_charsmap(charsmap_step::matching::longest_prefix);
  const auto by_grapheme = small_charsmap(charsmap_step::matching::grapheme);
  text_budget budget(100);
  BOOST_TEST(longest("\uFB01n \u2167", budget) == "fin VIII");
  BOOST_TEST(by_grapheme("\uFB01n \u2167", budget) == "fin VIII");
  BOOST_TEST(longest("a\r\nb\tc", budget) == "a b c");
  BOOST_TEST(longest("\u1E9B\u0323", budget) == "\u1E69");
  BOOST_TEST(longest("", budget) == "");
}

BOOST_AUTO_TEST_CASE(digits_are_grouped_from_the_end) {
  using number_kind = digit_groups_step::number_kind;
  const auto groups = [](std::string_view text, number_kind numbers) {
    return parts_of(text, digit_groups(text, {numbers}));
  };
  BOOST_TEST(groups("1234567 89", number_kind::any_digits) == (strings{"1", "234", "567", "89"}));
  BOOST_TEST(groups("12\u00BD3", number_kind::any_digits) == (strings{"1", "2\u00BD3"}));
  BOOST_TEST(groups("2024\u00BD", number_kind::decimals) == strings{"024\u00BD"});
  BOOST_TEST(groups("1234a 1234", number_kind::whole_words) == (strings{"1", "234"}));
  BOOST_TEST(groups("", number_kind::any_digits).empty());
}

BOOST_AUTO_TEST_CASE(scripts_are_those_of_the_characters_themselves) {
  BOOST_TEST(is_script("Han"));
  BOOST_TEST(is_script("old_italic"));
  BOOST_TEST(!is_script("L"));
  BOOST_TEST(!is_script("Alphabetic"));
  BOOST_TEST(pattern("\\p{Han}+").matches("\u3001").empty());
  BOOST_TEST(pattern("\\P{Han}").matches("\u4E00\u3001").size() == 1U);
  const std::string text = " a\u0431 \u0431\u65E5\u30AB1";
  BOOST_TEST(parts_of(text, pattern(scripts_pattern()).matches(text)) ==
             (strings{"a", "\u0431 \u0431", "\u65E5\u30AB", "1"}));
}

BOOST_AUTO_TEST_CASE(word_boundaries_are_those_of_ruby) {
  BOOST_TEST(pattern("a\\b").matches("a\u0301 a\u00BD a-").size() == 1U);
  BOOST_TEST(pattern("a\\B").matches("a\u0301 a\u00BD a-").size() == 2U);
}

BOOST_AUTO_TEST_CASE(decoding_knows_added_tokens_from_bytes) {
  const token_decoder bytes({byte_fallback_decoding{}}, false);
  text_budget budget(100);
  BOOST_TEST(bytes.bytes_of("<0x41>", false, false, budget) == "A");
  BOOST_TEST(bytes.bytes_of("<0x41>", false, true, budget) == "<0x41>");
  BOOST_TEST(bytes.bytes_of("<0x4>", false, false, budget) == "<0x4>");
  const token_decoder replaces({byte_fallback_decoding{}, replace_step{"A", true, "b"}}, false);
  BOOST_TEST(replaces.bytes_of("<0x41>", false, false, budget) == "b");
  BOOST_TEST(replaces.bytes_of("<0xFF>", false, false, budget) == "\xFF");
}

BOOST_AUTO_TEST_SUITE_END()
