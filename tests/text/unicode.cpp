#include "formats/text/unicode_forms.hpp"
#include "formats/text/utf8.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using namespace cogen::text;

}  // namespace

BOOST_AUTO_TEST_SUITE(unicode)

BOOST_AUTO_TEST_CASE(normal_forms_compose_and_decompose) {
  using enum unicode_form;
  BOOST_TEST(in_unicode_form("e\u0301", nfc) == "\u00E9");
  BOOST_TEST(in_unicode_form("\u00E9", nfd) == "e\u0301");
  BOOST_TEST(in_unicode_form("\uFB01", nfc) == "\uFB01");
  BOOST_TEST(in_unicode_form("\uFB01", nfkc) == "fi");
  BOOST_TEST(in_unicode_form("\u1E9B\u0323", nfkd) == "s\u0323\u0307");
  BOOST_TEST(in_unicode_form("\u1112\u1161\u11AB", nfc) == "\uD55C");
  BOOST_TEST(in_unicode_form("\u212B", nfc) == "\u00C5");
  BOOST_TEST(in_unicode_form("a\u0315\u0300\u05AE\u0300b", nfc) == "\u00E0\u05AE\u0300\u0315b");
}

BOOST_AUTO_TEST_CASE(nul_and_unassigned_characters_pass_through) {
  std::string text("a\0\u0301\U0010FFFF\u0378", 10);
  BOOST_TEST(in_unicode_form(text, unicode_form::nfc) == text);
}

BOOST_AUTO_TEST_CASE(lower_case_is_that_of_each_character) {
  BOOST_TEST(in_unicode_form("ÀΣЖİ", unicode_form::lowercase) == "àσжi\u0307");
}

BOOST_AUTO_TEST_CASE(only_a_character_that_may_still_become_valid_is_incomplete) {
  BOOST_TEST(complete_length("a\xF0\x9F\x98") == 1u);
  BOOST_TEST(complete_length("a\xC3") == 1u);
  BOOST_TEST(complete_length("aé") == 3u);
  BOOST_TEST(complete_length("a\xFF") == 2u);
  BOOST_TEST(complete_length("\xE0\x80") == 2u);
  BOOST_TEST(complete_length("\xED\xA0") == 2u);
  BOOST_TEST(complete_length("") == 0u);
}

BOOST_AUTO_TEST_CASE(every_code_point_survives_its_encoding) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    bool is_surrogate = c >= 0xD800 && c < 0xE000;
    std::string text;
    append_utf8(text, c);
    if (is_utf8(text) != !is_surrogate) BOOST_FAIL("code point " << std::uint32_t{c});
    if (!is_surrogate && first_character(text).code_point != c) BOOST_FAIL("code point " << std::uint32_t{c});
  }
}

BOOST_AUTO_TEST_SUITE_END()
