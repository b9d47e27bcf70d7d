// Tokenizers that are small and would make much of a text, or take long for it.
#include "../load/allocation_watch.hpp"
#include "../test_data.hpp"
#include "formats/text/pattern.hpp"
#include "mentions.hpp"
#include "small_tokenizer.hpp"
#include "tokenizer_of_model.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

BOOST_AUTO_TEST_SUITE(tokenizer_costs)

namespace {

using namespace cogen;
using namespace cogen::text;
using spoiling = std::function<void(tokenizer_spec&)>;

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

tokenizer make_tokenizer(const spoiling& spoil) {
  auto spec = small_spec({{"a", "b"}});
  spoil(spec);
  return tokenizer(spec);
}

std::string refusal_of_text(const spoiling& spoil, const std::string& text) {
  const auto tokens = make_tokenizer(spoil);
  return refusal([&] { tokens.encode(text); });
}

std::string refusal_of_file(const spoiling& spoil) {
  return refusal([&] { make_tokenizer(spoil); });
}

/// A table whose only path is an endless row of the same byte, none of which is replaced.
std::string endless_charsmap(unsigned char byte) {
  std::string table(4 + 4 * 256, '\0');
  const auto put = [&](std::size_t offset, std::uint32_t unit) {
    for (int i = 0; i < 4; ++i) table[offset + static_cast<std::size_t>(i)] = static_cast<char>(unit >> (8 * i) & 0xFF);
  };
  put(0, 4 * 256);
  put(4 + 4 * std::size_t{byte}, std::uint32_t{byte} << 10 | byte);
  return table;
}

constexpr auto too_many_bytes = "than its limit of ";
constexpr auto too_many_steps = " steps";

}  // namespace

BOOST_AUTO_TEST_CASE(what_steps_make_of_a_text_is_bounded) {
  const replace_step doubling{.pattern = "a", .is_regex = false, .content = "aa"};
  const replace_step doubling_by_pattern{.pattern = "a|b", .is_regex = true, .content = "aa"};
  const replace_step long_content{.pattern = "a", .is_regex = false, .content = std::string(1'000'000, 'b')};
  const std::string text(20'000, 'a');
  const std::vector<std::pair<const char*, spoiling>> growing{
      {"replaced", [&](auto& spec) { spec.normalizer.assign(64, doubling); }},
      {"replaced by pattern", [&](auto& spec) { spec.normalizer.assign(64, doubling_by_pattern); }},
      {"long content", [&](auto& spec) { spec.normalizer = {long_content}; }},
      // NOLINTNEXTLINE(bugprone-string-constructor): it is meant to be long
      {"prepended", [&](auto& spec) { spec.normalizer = {prepend_step{std::string(10'000'000, 'b')}}; }},
      {"spaces",
       [&](auto& spec) {
         spec.normalizer = {replace_step{"a", false, " "}};
         spec.pre_tokenizer = {metaspace_step{.replacement = std::string(1000, 'b')}};
       }},
      {"prefix spaces", [&](auto& spec) {
         spec.pre_tokenizer.assign(40, byte_level_step{true, false});
         spec.pre_tokenizer.insert(spec.pre_tokenizer.begin(), split_step{"a", true});
       }}};
  for (const auto& [name, spoil] : growing) {
    BOOST_TEST(refusal_of_text(spoil, text) ==
                   "the tokenizer makes more of a text of 20000 bytes than its limit of 1284096 bytes",
               name);
  }
  BOOST_TEST(mentions(refusal_of_text(growing[0].second, "a"), too_many_bytes));
}

BOOST_AUTO_TEST_CASE(parts_between_added_tokens_share_a_limit) {
  const std::string content(1500, 'b');
  const auto spoil = [&](auto& spec) {
    spec.added = {{.id = static_cast<token>(spec.vocabulary.size()), .content = "|"}};
    spec.normalizer = {prepend_step{content}};
  };
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "a|";
  BOOST_TEST(mentions(refusal_of_text(spoil, text), too_many_bytes));
  BOOST_TEST(make_tokenizer(spoil).encode("a").size() == 1501u);
}

BOOST_AUTO_TEST_CASE(ordinary_growth_is_within_the_limit) {
  const auto tokens = make_tokenizer([](auto& spec) {
    spec.normalizer = {unicode_form::nfkd, character_filter::space_ideographs};
    spec.pre_tokenizer = {metaspace_step{}, byte_level_step{true, true}};
  });
  std::string ligatures;
  for (int i = 0; i < 2000; ++i) ligatures += "\uFDFA";  // 3 bytes that become 33
  BOOST_TEST(tokens.encode(ligatures).size() > 60'000u);
}

BOOST_AUTO_TEST_CASE(time_grows_as_the_text) {
  const std::string text(200'000, 'a');
  const std::string deep = std::string(2000, 'a') + "b";
  const auto with_deep_token = [&](auto& spec) { spec.vocabulary.push_back(deep); };
  const std::vector<std::pair<const char*, spoiling>> slow{
      {"added token",
       [&](auto& spec) { spec.added = {{.id = static_cast<token>(spec.vocabulary.size()), .content = deep}}; }},
      {"unigram",
       [&](auto& spec) {
         with_deep_token(spec);
         spec.model = encoding_model::unigram;
         spec.scores.assign(spec.vocabulary.size(), -1);
       }},
      {"word piece",
       [&](auto& spec) {
         with_deep_token(spec);
         spec.model = encoding_model::word_piece;
         spec.continuing_prefix = "";
         spec.max_word_characters = ~std::size_t{0};
       }},
      {"charsmap",
       [&](auto& spec) {
         spec.normalizer = {charsmap_step{endless_charsmap('a'), charsmap_step::matching::longest_prefix}};
       }},
      {"pattern",
       [&](auto& spec) {
         spec.pre_tokenizer = {split_step{"[a-z]+\\d", true}};
       }},
      {"look ahead", [&](auto& spec) {
         spec.normalizer = {replace_step{"(?=a*b)", true, ""}};
       }}};
  for (const auto& [name, spoil] : slow) BOOST_TEST(mentions(refusal_of_text(spoil, text), too_many_steps), name);
}

BOOST_AUTO_TEST_CASE(pieces_share_the_steps_of_a_text) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "aaaaaaaaaaaaaaaaaaaaaaa ";
  const auto spoil = [](auto& spec) { spec.pre_tokenizer = {split_step{" ", true}, split_step{"(?:a|a)+[cd]", true}}; };
  BOOST_TEST(mentions(refusal_of_text(spoil, text), too_many_steps));
}

BOOST_AUTO_TEST_CASE(tokens_that_claim_the_spaces_around_them_visit_each_once) {
  const std::string spaces(300'000, ' ');
  for (const bool from_left : {true, false}) {
    const auto tokens = make_tokenizer([&](auto& spec) {
      spec.added = {{.id = static_cast<token>(spec.vocabulary.size()),
                     .content = " ",
                     .lstrip = from_left,
                     .rstrip = !from_left}};
    });
    BOOST_TEST(tokens.encode(spaces).size() == spaces.size());
  }
}

BOOST_AUTO_TEST_CASE(a_match_may_be_as_long_as_the_text) {
  const std::string letters(1'000'000, 'a');
  BOOST_TEST(pattern("\\p{L}+").matches(letters + " b").size() == 2u);
  BOOST_TEST(pattern("a+(?! )|.").matches(letters).size() == 1u);
  BOOST_TEST(pattern("\\p{L}+").matches(std::string(1000, '.') + letters).size() == 1u);
}

BOOST_AUTO_TEST_CASE(where_a_view_of_the_text_ends_is_no_end_of_the_text) {
  for (std::size_t count = 240; count < 260; ++count) {
    const std::string dots(count, '.');
    const auto places = [&](std::string_view source, std::string_view text) {
      std::string found;
      for (auto match : pattern(source).matches(dots + std::string(text))) {
        const auto from_dots = [&](std::size_t position) {
          return std::to_string(static_cast<int>(position) - static_cast<int>(count));
        };
        found += from_dots(match.begin) + "-" + from_dots(match.end) + " ";
      }
      return found;
    };
    BOOST_TEST(places("a+", "aa.a") == "0-2 3-4 ");
    BOOST_TEST(places("a\\z", "aa") == "1-2 ");
    BOOST_TEST(places("a$", "a\na") == "0-1 2-3 ");
    BOOST_TEST(places("\\.a|a(?!b)", "abaa") == "-1-1 2-3 3-4 ");
    BOOST_TEST(places("(?<=\\.)a", "aa") == "0-1 ");
    BOOST_TEST(places("\\ba", "aa a") == "0-1 3-4 ");
    BOOST_TEST(places("(?<=a)", "a.a") == "1-1 3-3 ");
    BOOST_TEST(places("\u00E9+", "\u00E9\u00E9.\u00E9") == "0-4 5-7 ");
  }
}

BOOST_AUTO_TEST_CASE(files_of_too_much_are_refused_by_name) {
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.normalizer.assign(65, unicode_form::nfc); }),
                      "the tokenizer has 65 normalizers, but the limit is 64"));
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.pre_tokenizer.assign(65, digits_step{}); }),
                      "65 pre-tokenizers, but the limit is 64"));
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.decoder.assign(65, byte_fallback_decoding{}); }),
                      "65 decoders, but the limit is 64"));
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.prefix.assign(257, 0); }),
                      "257 tokens before the text, but the limit is 256"));
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.suffix.assign(257, 0); }), "257 tokens after the text"));
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.between_pair = {100'000}; }), "100000"));
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.vocabulary[7] = std::string(2049, 'a'); }),
                      "token 7 has 2049 bytes, but the limit is 2048"));
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.added = {{.id = 9, .content = std::string(2049, 'a')}}; }),
                      "token 9 has 2049 bytes"));
  const replace_step long_content{.pattern = "a", .is_regex = false, .content = std::string(1'000'000, 'b')};
  BOOST_TEST(mentions(refusal_of_file([&](auto& spec) { spec.decoder = {long_content}; }), too_many_bytes));
  BOOST_TEST(mentions(refusal_of_file([&](auto& spec) {
                        spec.normalizer = {long_content};
                        spec.added = {{.id = 9, .content = "aa", .normalized = true}};
                      }),
                      too_many_bytes));
}

/// What a file makes of its tokens is bounded for all of them.
BOOST_AUTO_TEST_CASE(tokens_share_the_steps_of_their_file) {
  const auto many_tokens = [](auto& spec) {
    for (int i = 0; i < 200; ++i) spec.vocabulary.push_back("aaaaaaaaaaaaaaaaaaaaaa" + std::to_string(i));
  };
  const replace_step slow{.pattern = "(?:a|a)+[cd]", .is_regex = true, .content = ""};
  BOOST_TEST(mentions(refusal_of_file([&](auto& spec) {
                        many_tokens(spec);
                        spec.decoder = {slow};
                      }),
                      too_many_steps));
  BOOST_TEST(mentions(refusal_of_file([&](auto& spec) {
                        many_tokens(spec);
                        spec.normalizer = {slow};
                        for (std::size_t id = 0; id < 200; ++id)
                          spec.added.push_back({.id = static_cast<token>(id),
                                                .content = spec.vocabulary.end()[-1 - static_cast<int>(id)],
                                                .normalized = true});
                      }),
                      too_many_steps));
  BOOST_TEST(mentions(refusal_of_file([&](auto& spec) {
                        many_tokens(spec);
                        spec.decoder = {
                            replace_step{.pattern = "a", .is_regex = false, .content = std::string(200, 'b')}};
                      }),
                      too_many_bytes));
}

BOOST_AUTO_TEST_CASE(files_say_no_more_than_they_hold) {
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.added = {{.id = 70'000, .content = "a"}}; }), "outside"));
  BOOST_TEST(make_tokenizer([](auto& spec) { spec.added = {{.id = 60'000, .content = "a"}}; }).size() == 60'001u);
  BOOST_TEST(mentions(refusal_of_file([](auto& spec) { spec.vocabulary.resize(9000, std::string(2048, 'a')); }),
                      "bytes of tokens, but the limit is 16777216"));
  const auto of_json = [](const std::string& model, const std::string& more) {
    return refusal(
        [&] { tokenizer::from_tokenizer_json(R"({"model": {"merges": [], "vocab": {)" + model + "}}" + more + "}"); });
  };
  BOOST_TEST(mentions(of_json(R"("a": 16777215)", ""), "the ids of 1 tokens lie below 65540"));
  const auto sequence = [&](const std::string& name, const std::string& list, const std::string& step) {
    std::string steps = step;
    for (int i = 0; i < 100'000; ++i) steps += "," + step;
    const allocation_watch watch;
    const auto said =
        of_json(R"("a": 0)", ",\"" + name + R"(": {"type": "Sequence", ")" + list + "\": [" + steps + "]}");
    BOOST_TEST(watch.largest() < (std::size_t{64} << 20), name);
    return said;
  };
  BOOST_TEST(
      mentions(sequence("normalizer", "normalizers", R"({"type": "NFC"})"), "65 normalizers, but the limit is 64"));
  BOOST_TEST(mentions(sequence("pre_tokenizer", "pretokenizers", R"({"type": "UnicodeScripts"})"),
                      "65 pre-tokenizers, but the limit is 64"));
  BOOST_TEST(mentions(sequence("decoder", "decoders", R"({"type": "ByteLevel"})"), "65 decoders, but the limit is 64"));
  const std::string special = R"({"SpecialToken": {"id": "A", "type_id": 0}})";
  const auto surrounded = [&](const std::string& single, const std::string& pair, const std::string& ids) {
    return of_json(R"("a": 0)", R"(, "post_processor": {"type": "TemplateProcessing", "single": [)" + single +
                                    R"(], "pair": [)" + pair + R"(], "special_tokens": {"A": {"id": "A", "ids": [)" +
                                    ids + "]}}}");
  };
  std::string parts = special, ids = "0";
  for (int i = 0; i < 300; ++i) parts += "," + special, ids += ",0";
  const std::string text = R"({"Sequence": {"id": "A", "type_id": 0}})";
  BOOST_TEST(mentions(surrounded(parts, "", "0"), "tokens before the text, but the limit is 256"));
  BOOST_TEST(mentions(surrounded(text + "," + parts, "", "0"), "tokens after the text, but the limit is 256"));
  BOOST_TEST(mentions(surrounded(text, text + "," + parts, "0"), "tokens between two texts, but the limit is 256"));
  BOOST_TEST(mentions(surrounded(special, "", ids), "301 ids of a special token, but the limit is 256"));
}

BOOST_AUTO_TEST_CASE(messages_do_not_repeat_long_patterns) {
  const auto message = refusal([] { pattern wrong(std::string(10'000, '(')); });
  BOOST_TEST(mentions(message, "malformed"));
  BOOST_TEST(message.size() < 500u);
}

namespace {

/// Of a text that must have more tokens than this; empty if it is not refused.
std::string refusal_beyond(std::size_t tokens, const tokenizer& tokenizer, const std::string& text) {
  try {
    tokenizer.encode(text, {.max_tokens = tokens});
  } catch (const token_limit_exceeded& error) {
    BOOST_TEST(error.least() > tokens);
    return error.what();
  }
  return "";
}

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_text_that_must_have_too_many_tokens_is_refused) {
  const auto refused = [](const spoiling& spoil, const std::string& text, std::size_t limit) {
    return !refusal_beyond(limit, make_tokenizer(spoil), text).empty();
  };
  const std::string text(4096, 'a'), spaces(4096, ' ');
  const auto unchanged = [](auto&) {};
  BOOST_TEST(refusal_beyond(1023, make_tokenizer(unchanged), text) ==
             "a text of 4096 bytes has at least 1024 tokens, which are too many");
  BOOST_TEST(!refused(unchanged, text, 1024));
  BOOST_TEST(refused([](auto& spec) { spec.vocabulary.push_back(std::string(2048, 'b')); }, text, 1));
  BOOST_TEST(!refused([](auto& spec) { spec.vocabulary.push_back(std::string(2048, 'b')); }, text, 2));
  BOOST_TEST(refused([](auto& spec) { spec.normalizer = {replace_step{"a", false, "bb"}}; }, text, 2047));
  BOOST_TEST(!refused([](auto& spec) { spec.normalizer = {replace_step{"aaaa", false, "b"}}; }, text, 256));
  // What may stand for any number of bytes.
  BOOST_TEST(!refused(
      [](auto& spec) {
        spec.pre_tokenizer = {split_step{" ", true, split_behavior::removed}};
      },
      spaces, 0));
  BOOST_TEST(!refused([](auto& spec) { spec.vocabulary[0] = "?"; }, text, 0));
  const auto strips = [](bool normalized) {
    return [=](auto& spec) { spec.added = {{.id = 300, .content = "|", .rstrip = true, .normalized = normalized}}; };
  };
  BOOST_TEST(!refused(strips(true), "|" + spaces, 1));
  BOOST_TEST(!refused(strips(false), "|" + spaces, 1));
}

BOOST_AUTO_TEST_CASE(no_text_is_refused_that_has_so_few_tokens) {
  const std::vector<std::string> parts{
      "a",      " ",          "\n",           "ab 12", "the sea ", "\u00e4\u6f22", "\u0301e\u0301",
      "\u00a0", "\U0001f600", "\u212b",       "\x01",  "##a",      "<|im_end|>",   "[MASK]  ",
      "<s> ",   "ffi",        "\u00df\u1e9e", "''",    "\xff",     "\u3000"};
  std::size_t limited = 0;
  for (const auto& folder : std::filesystem::directory_iterator(test::test_data() / "text/tokenizers")) {
    const auto tokens = tokenizer_of_model(folder);
    for (const auto& part : parts) {
      const auto text = repeated(part, 500) + "x" + repeated(part, 3);
      for (const bool special : {false, true}) {
        const auto whole = tokens->encode(text, {.parse_special = special});
        BOOST_TEST(tokens->encode(text, {.parse_special = special, .max_tokens = whole.size()}) == whole);
      }
      limited += !refusal_beyond(0, *tokens, text).empty();
    }
  }
  BOOST_TEST(limited > 5 * parts.size());
}

BOOST_AUTO_TEST_SUITE_END()
