#include "../thread_group.hpp"
#include "mentions.hpp"
#include "small_tokenizer.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>

namespace {

using namespace cogen;
using namespace cogen::text;
using ids = std::vector<token>;

constexpr encode_options plain{};
constexpr encode_options parsing{.add_special = false, .parse_special = true};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tokenizers)

BOOST_AUTO_TEST_CASE(the_most_urgent_merge_comes_first_and_the_leftmost_of_equal_ones) {
  auto tokens = small_tokenizer({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "a"}});
  BOOST_TEST(tokens.token_text(tokens.encode("abc").at(1)) == "bc");
  BOOST_TEST(tokens.token_text(tokens.encode("aaa").at(0)) == "aaa");
  BOOST_TEST(tokens.encode("aaaa").size() == 2u);
}

BOOST_AUTO_TEST_CASE(long_pieces_merge_as_short_ones_do) {
  auto tokens = small_tokenizer({{"a", "b"}, {"ab", "a"}, {"b", "ab"}, {"aba", "bab"}, {"b", "a"}});
  std::string text;
  for (int i = 0; i < 300; ++i) text += i * i % 7 < 3 ? 'a' : 'b';
  ids naive = naive_merges(tokens, text, {{"a", "b"}, {"ab", "a"}, {"b", "ab"}, {"aba", "bab"}, {"b", "a"}});
  BOOST_TEST(tokens.encode(text) == naive, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(megabytes_of_one_letter_are_encoded) {
  auto tokens = small_tokenizer({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}});
  std::string text((std::size_t{1} << 20) + 3, 'a');
  auto encoded = tokens.encode(text);
  BOOST_TEST(encoded.size() == (std::size_t{1} << 17) + 2);
  BOOST_TEST(tokens.decode(encoded) == text);
}

BOOST_AUTO_TEST_CASE(control_tokens_in_a_text_count_only_where_the_caller_allows_it) {
  auto tokens = small_tokenizer({}, {"<|end|>"});
  auto end = *tokens.find("<|end|>");
  BOOST_TEST(tokens.encode("a<|end|>b", plain).size() == 9u);
  BOOST_TEST(tokens.encode("a<|end|>b", parsing) == (ids{*tokens.find("a"), end, *tokens.find("b")}));
  BOOST_TEST(tokens.decode(tokens.encode("a<|end|>b", plain), true) == "a<|end|>b");
  BOOST_TEST(tokens.decode(tokens.encode("a<|end|>b", parsing), true) == "ab");
}

BOOST_AUTO_TEST_CASE(a_whole_piece_is_never_a_control_token_by_itself) {
  auto spec = small_spec({{"e", "n"}, {"en", "d"}}, {"end"});
  spec.vocabulary.push_back("end");
  spec.added.back().id = static_cast<token>(spec.vocabulary.size()) - 1;
  spec.ignore_merges = true;
  tokenizer tokens(spec);
  BOOST_TEST(tokens.encode("end", parsing).size() == 1u);
  BOOST_TEST(!tokens.is_special(tokens.encode("xend", plain).back()));
}

BOOST_AUTO_TEST_CASE(in_segments_a_control_token_must_be_trusted_from_end_to_end) {
  auto tokens = small_tokenizer({}, {"<|end|>"});
  auto end = *tokens.find("<|end|>");
  auto count = [&](std::vector<text_segment> segments) {
    auto encoded = tokens.encode(segments, parsing);
    return std::count(encoded.begin(), encoded.end(), end);
  };
  BOOST_TEST(count({{"<|end|>", true}}) == 1);
  BOOST_TEST(count({{"<|end|>", false}}) == 0);
  BOOST_TEST(count({{"<|en", true}, {"d|>", true}}) == 1);
  BOOST_TEST(count({{"<|en", true}, {"d|>", false}}) == 0);
  BOOST_TEST(count({{"<|en", false}, {"d|><|end|>", true}}) == 1);
  BOOST_TEST(count({{"a", true}, {"<|end|>", false}, {"<|end|>", true}}) == 1);
}

BOOST_AUTO_TEST_CASE(a_text_cannot_swallow_the_beginning_of_a_trusted_control_token) {
  auto tokens = small_tokenizer({}, {"<|end|>", "x<|end"});
  std::vector<text_segment> segments{{"x", false}, {"<|end|>", true}};
  auto encoded = tokens.encode(segments, parsing);
  BOOST_TEST(encoded == (ids{*tokens.find("x"), *tokens.find("<|end|>")}));
}

BOOST_AUTO_TEST_CASE(segments_tokenize_as_their_joined_text) {
  auto tokens = small_tokenizer({{"a", "b"}, {"ab", "c"}});
  BOOST_TEST(tokens.encode(std::vector<text_segment>{{"a", true}, {"b", false}, {"c", true}}) == tokens.encode("abc"));
}

BOOST_AUTO_TEST_CASE(invalid_parts_of_utf8_become_one_replacement_character_each) {
  auto tokens = small_tokenizer({});
  for (std::string_view broken : {"\xFF", "\xC3", "\xE6\x97", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC0\x80"}) {
    auto text = "a" + std::string(broken) + "b";
    auto decoded = tokens.decode(tokens.encode(text));
    auto surrogates = broken == "\xED\xA0\x80" ? 3 : broken == "\xF4\x90\x80\x80" ? 4 : broken == "\xC0\x80" ? 2 : 1;
    std::string expected = "a";
    for (int i = 0; i < surrogates; ++i) expected += "\xEF\xBF\xBD";
    BOOST_TEST(decoded == expected + "b");
  }
}

BOOST_AUTO_TEST_CASE(nul_is_a_character_like_others) {
  auto tokens = small_tokenizer({});
  std::string text("a\0b", 3);
  BOOST_TEST(tokens.decode(tokens.encode(text)) == text);
}

BOOST_AUTO_TEST_CASE(bytes_that_the_vocabulary_lacks_become_the_unknown_token) {
  auto spec = small_spec({}, {"<unk>"});
  std::erase(spec.vocabulary, "z");
  spec.added.back().id = static_cast<token>(spec.vocabulary.size());
  spec.unknown = spec.added.back().id;
  tokenizer tokens(spec);
  auto unknown = *tokens.unknown();
  BOOST_TEST(tokens.encode("zaz") == (ids{unknown, *tokens.find("a"), unknown}));
  spec.fuse_unknown = true;
  BOOST_TEST(tokenizer(spec).encode("zza").size() == 2u);
  spec.unknown.reset();
  BOOST_TEST(tokenizer(spec).encode("zza").size() == 1u);
}

BOOST_AUTO_TEST_CASE(texts_beyond_the_limit_are_refused) {
  auto tokens = small_tokenizer({});
  char nothing = 'a';
  std::string_view endless(&nothing, std::size_t{std::numeric_limits<std::int32_t>::max()} + 1);
  BOOST_CHECK_THROW(tokens.encode(endless), std::length_error);
}

BOOST_AUTO_TEST_CASE(ids_outside_the_vocabulary_are_refused) {
  auto tokens = small_tokenizer({});
  for (auto id : {token{-1}, static_cast<token>(tokens.size()), std::numeric_limits<token>::max()}) {
    BOOST_CHECK_THROW(tokens.decode(ids{id}), std::out_of_range);
    BOOST_CHECK_THROW(tokens.token_text(id), std::out_of_range);
    BOOST_TEST(!tokens.is_special(id));
  }
}

BOOST_AUTO_TEST_CASE(a_specification_that_contradicts_itself_is_refused_by_name) {
  auto refusal = [](const std::function<void(tokenizer_spec&)>& spoil) {
    auto spec = small_spec({{"a", "b"}}, {"<s>"});
    spoil(spec);
    return message_of([&] { tokenizer tokens(spec); });
  };
  BOOST_TEST(mentions(refusal([](auto& spec) { spec.vocabulary.clear(), spec.added.clear(); }), "empty"));
  BOOST_TEST(mentions(refusal([](auto& spec) { spec.merges.push_back({"a", "q"}); }), "\"aq\""));
  BOOST_TEST(mentions(refusal([](auto& spec) { spec.bos = 100'000; }), "100000"));
  BOOST_TEST(mentions(refusal([](auto& spec) { spec.eos = {-1}; }), "-1"));
  BOOST_TEST(mentions(refusal([](auto& spec) { spec.added[0].id = 1 << 30; }), "<s>"));
  BOOST_TEST(mentions(refusal([](auto& spec) { spec.pre_tokenizer = {split_step{"(a"}}; }), "(a"));
  BOOST_TEST(mentions(refusal([](auto& spec) { spec.pre_tokenizer = {split_step{"[a&&b]"}}; }), "intersections"));
}

BOOST_AUTO_TEST_CASE(a_pattern_that_explodes_ends_in_an_error) {
  auto spec = small_spec({});
  spec.pre_tokenizer = {split_step{"(?:a|a?)+b|(a+)+c"}, byte_level_step{false, false}};
  tokenizer tokens(spec);
  auto message = message_of([&] { tokens.encode(std::string(64, 'a')); });
  BOOST_TEST(mentions(message, "gave up"));
}

BOOST_AUTO_TEST_CASE(marks_piled_on_one_letter_are_normalized) {
  auto spec = small_spec({});
  spec.normalizer = {unicode_form::nfc};
  tokenizer tokens(spec);
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  auto decoded = tokens.decode(tokens.encode(text));
  BOOST_TEST(decoded.starts_with("\u1EA1\u0323"));
  BOOST_TEST(decoded.ends_with("\u0301\u0301"));
}

BOOST_AUTO_TEST_CASE(added_tokens_claim_the_space_around_them) {
  auto spec = small_spec({}, {"[L]", "[R]"});
  spec.added[0].lstrip = true;
  spec.added[1].rstrip = true;
  tokenizer tokens(spec);
  auto left = *tokens.find("[L]");
  auto right = *tokens.find("[R]");
  auto a = *tokens.find("a");
  BOOST_TEST(tokens.encode("a \n[L]a", parsing) == (ids{a, left, a}));
  BOOST_TEST(tokens.encode("[R]\u3000 [L]a", parsing) == (ids{right, left, a}));
  BOOST_TEST(tokens.encode("a[R]  a", parsing) == (ids{a, right, a}));
}

BOOST_AUTO_TEST_CASE(beginning_and_end_are_added_on_request) {
  auto spec = small_spec({}, {"<s>", "</s>"});
  spec.prefix = {spec.added[0].id};
  spec.suffix = {spec.added[1].id};
  tokenizer tokens(spec);
  auto encoded = tokens.encode("a", {.add_special = true, .parse_special = false});
  BOOST_TEST(encoded == (ids{*tokens.find("<s>"), *tokens.find("a"), *tokens.find("</s>")}));
  BOOST_TEST(tokens.encode("").empty());
  BOOST_TEST(tokens.encode("", {.add_special = true, .parse_special = false}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(end_tokens_come_ascending_and_once) {
  auto spec = small_spec({}, {"<e>", "<f>"});
  spec.eos = {spec.added[1].id, spec.added[0].id, spec.added[1].id};
  tokenizer tokens(spec);
  BOOST_TEST(tokens.eos() == (ids{spec.added[0].id, spec.added[1].id}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(many_threads_share_one_tokenizer) {
  auto tokens = small_tokenizer({{"a", "b"}, {"c", "d"}}, {"<s>"});
  auto expected = tokens.encode("ab cd<s>", parsing);
  cogen::test::thread_group threads;
  std::atomic<int> different = 0;
  for (int i = 0; i < 4; ++i) {
    threads.start([&] {
      for (int j = 0; j < 200; ++j) different += tokens.encode("ab cd<s>", parsing) != expected;
    });
  }
  threads.join();
  BOOST_TEST(different == 0);
}

BOOST_AUTO_TEST_SUITE_END()
