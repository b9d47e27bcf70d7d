#include "formats/text/tokenizer_spec.hpp"
#include "formats/text/utf8.hpp"
#include "small_tokenizer.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/test/unit_test.hpp>

#include <random>
#include <stdexcept>

namespace {

using namespace cogen;
using namespace cogen::text;

token byte_token(unsigned char byte) { return byte; }

std::vector<std::string> pieces_of(detokenizer& pieces, std::string_view bytes) {
  std::vector<std::string> result;
  for (char c : bytes) result.push_back(pieces.push(byte_token(static_cast<unsigned char>(c))));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(detokenizers)

BOOST_AUTO_TEST_CASE(a_character_comes_out_when_it_is_complete) {
  auto tokens = small_tokenizer({});
  detokenizer pieces(tokens);
  BOOST_TEST(pieces_of(pieces, "\xF0\x9F\x98\x80") == (std::vector<std::string>{"", "", "", "😀"}));
  BOOST_TEST(pieces_of(pieces, "\xC3\xA9!") == (std::vector<std::string>{"", "é", "!"}));
  BOOST_TEST(pieces.flush() == "");
}

BOOST_AUTO_TEST_CASE(a_character_that_cannot_be_completed_is_replaced_at_once) {
  auto tokens = small_tokenizer({});
  detokenizer pieces(tokens);
  BOOST_TEST(pieces_of(pieces, "\xE6\x97x") == (std::vector<std::string>{"", "", "\uFFFDx"}));
  BOOST_TEST(pieces_of(pieces, "\xFF") == (std::vector<std::string>{"\uFFFD"}));
  BOOST_TEST(pieces_of(pieces, "\xE0\x80") == (std::vector<std::string>{"", "\uFFFD\uFFFD"}));
}

BOOST_AUTO_TEST_CASE(what_is_held_back_at_the_end_is_replaced) {
  auto tokens = small_tokenizer({});
  detokenizer pieces(tokens);
  pieces_of(pieces, "a\xF0\x9F\x98");
  BOOST_TEST(pieces.flush() == "\uFFFD");
  BOOST_TEST(pieces.flush() == "");
}

BOOST_AUTO_TEST_CASE(control_tokens_are_shown_only_on_request) {
  auto tokens = small_tokenizer({}, {"<|end|>"});
  auto end = *tokens.find("<|end|>");
  BOOST_TEST(detokenizer(tokens, true).push(end) == "");
  BOOST_TEST(detokenizer(tokens, false).push(end) == "<|end|>");
}

BOOST_AUTO_TEST_CASE(an_id_outside_the_vocabulary_changes_nothing) {
  auto tokens = small_tokenizer({});
  detokenizer pieces(tokens);
  pieces.push(byte_token(0xC3));
  BOOST_CHECK_THROW(pieces.push(100'000), std::out_of_range);
  BOOST_TEST(pieces.push(byte_token(0xA9)) == "é");
}

BOOST_AUTO_TEST_CASE(a_copy_continues_on_its_own) {
  auto tokens = small_tokenizer({});
  detokenizer pieces(tokens);
  pieces.push(byte_token(0xC3));
  auto fork = pieces;
  BOOST_TEST(fork.push(byte_token(0xA8)) == "è");
  BOOST_TEST(pieces.push(byte_token(0xA9)) == "é");
}

BOOST_AUTO_TEST_CASE(words_have_a_space_before_them_but_the_first) {
  tokenizer_spec spec;
  spec.model = encoding_model::word_piece;
  spec.vocabulary = {"a", "##b", ".", "'s", "##c"};
  spec.decoder = {word_piece_decoding{}};
  spec.added.push_back({.id = 5, .content = "[CLS]", .special = true});
  const tokenizer tokens(spec);
  const std::vector<token> ids{5, 1, 0, 1, 3, 0, 2};
  BOOST_TEST(tokens.decode(ids) == "[CLS]b ab's a.");
  BOOST_TEST(tokens.decode(ids, true) == "##b ab's a.");
  for (const bool skips : {false, true}) {
    detokenizer pieces(tokens, skips);
    std::string joined;
    for (auto id : ids) joined += pieces.push(id);
    BOOST_TEST(joined == tokens.decode(ids, skips));
    BOOST_TEST(pieces.flush() == "");
    BOOST_TEST(pieces.push(0) == "a");
  }
}

BOOST_AUTO_TEST_CASE(the_first_token_loses_its_space) {
  tokenizer_spec spec;
  spec.vocabulary = {"▁a", "▁▁b", "▁", "<0xE2>"};
  spec.decoder = {replace_step{"▁", false, " "}, byte_fallback_decoding{}};
  spec.strip_first_space = true;
  const tokenizer tokens(spec);
  BOOST_TEST(tokens.decode(std::vector<token>{0, 0}) == "a a");
  BOOST_TEST(tokens.decode(std::vector<token>{1}) == " b");
  BOOST_TEST(tokens.decode(std::vector<token>{2, 0}) == " a");
  BOOST_TEST(tokens.decode(std::vector<token>{3, 0}) == "\uFFFD a");
  BOOST_TEST(tokens.token_bytes(0) == " a");
  BOOST_TEST(tokens.token_bytes(0, true) == "a");
  spec.decoder = {metaspace_decoding{}};
  spec.strip_first_space = false;
  BOOST_TEST(tokenizer(spec).decode(std::vector<token>{1, 1}) == "b  b");
}

BOOST_AUTO_TEST_CASE(pieces_of_random_bytes_are_valid_and_join_to_the_decoded_text) {
  auto tokens = small_tokenizer({}, {"<é>"});
  std::mt19937 draw(7);
  constexpr std::string_view likely = "\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80\xED\xA0 a";
  for (int round = 0; round < 2000; ++round) {
    std::vector<token> ids;
    for (int i = 0; i < 12; ++i) {
      ids.push_back(draw() % 16 == 0 ? 256 : byte_token(static_cast<unsigned char>(likely[draw() % likely.size()])));
    }
    detokenizer pieces(tokens, false);
    std::string joined;
    for (auto id : ids) {
      auto piece = pieces.push(id);
      BOOST_REQUIRE(is_utf8(piece));
      joined += piece;
    }
    BOOST_REQUIRE_EQUAL(joined + pieces.flush(), tokens.decode(ids));
  }
}

BOOST_AUTO_TEST_SUITE_END()
