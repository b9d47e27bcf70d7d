// Prompts of texts with a gap.
#include "mentions.hpp"
#include "small_tokenizer.hpp"

#include <cogen/text/infill.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace {

using namespace cogen;
using namespace cogen::text;

const std::vector<std::string> qwen{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
                                    "<|fim_pad|>",    "<|repo_name|>",  "<|file_sep|>"};

std::string prompt_of(const tokenizer& tokens, const infill_text& text, std::size_t most = 1000) {
  return tokens.decode(encode_infill(tokens, text, most));
}

BOOST_AUTO_TEST_SUITE(infills)

BOOST_AUTO_TEST_CASE(families_name_their_tokens_in_their_own_ways) {
  using names = std::array<std::string, 3>;
  for (const auto& [prefix, suffix, middle] :
       {names{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
        names{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"}, names{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
        names{"<\uFF5Cfim\u2581begin\uFF5C>", "<\uFF5Cfim\u2581hole\uFF5C>", "<\uFF5Cfim\u2581end\uFF5C>"},
        names{"<PRE>", "<SUF>", "<MID>"}, names{"\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"},
        names{"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}}) {
    const auto tokens = small_tokenizer({}, {prefix, suffix, middle});
    BOOST_TEST(infill_tokens_of(tokens).complete());
    BOOST_TEST(prompt_of(tokens, {.prefix = "a = ", .suffix = "\n"}) == prefix + "a = " + suffix + "\n" + middle);
    BOOST_TEST(infill_ends(tokens).empty());
  }
}

BOOST_AUTO_TEST_CASE(what_the_tokenizer_names_counts_more_than_a_name) {
  auto spec = small_spec({}, {"<A>", "<B>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>"});
  spec.keys = {{"tokenizer.ggml.fim_pre_token_id", 256}, {"tokenizer.ggml.suffix_token_id", 257}};
  BOOST_TEST(prompt_of(tokenizer(spec), {.prefix = "p", .suffix = "s"}) == "<A>p<B>s<fim_middle>");
  spec.keys.emplace_back("tokenizer.ggml.fim_pad_token_id", 1000);
  BOOST_CHECK_THROW(tokenizer{spec}, std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_model_without_all_three_tokens_fills_no_gap) {
  const auto tokens = small_tokenizer({}, {"<fim_prefix>", "<fim_suffix>"});
  BOOST_TEST(!infill_tokens_of(tokens).complete());
  BOOST_CHECK_EXCEPTION(encode_infill(tokens, {.prefix = "p", .suffix = "s"}), std::invalid_argument,
                        [](const auto& e) { return mentions(e.what(), "middle"); });
}

BOOST_AUTO_TEST_CASE(several_texts_with_one_suffix_are_prompts_like_single_ones) {
  const auto tokens = small_tokenizer({}, qwen);
  const std::vector<std::string> prefixes{"a = ", "", "b = 12"};
  const auto prompts = encode_infills(tokens, prefixes, "\n", 10);
  BOOST_TEST_REQUIRE(prompts.size() == prefixes.size());
  for (std::size_t i = 0; i < prefixes.size(); ++i)
    BOOST_TEST(prompts[i] == encode_infill(tokens, {.prefix = prefixes[i], .suffix = "\n"}));
  const std::string long_text(100'000, 'x');
  BOOST_CHECK_THROW(encode_infills(tokens, prefixes, long_text, 10), token_limit_exceeded);
  BOOST_CHECK_THROW(encode_infills(tokens, std::vector{long_text}, "", 10), token_limit_exceeded);
  BOOST_CHECK_THROW(encode_infills(small_tokenizer({}, {}), prefixes, "\n", 10), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(files_come_first_under_their_names) {
  const auto tokens = small_tokenizer({}, qwen);
  infill_text text{.prefix = "p", .suffix = "s", .prompt = "b", .files = {{"x.cpp", "1"}, {"y.cpp", "2"}}};
  text.repository = "myproject";
  text.name = "filename";
  BOOST_TEST(prompt_of(tokens, text) ==
             "<|repo_name|>myproject\n<|file_sep|>x.cpp\n1<|file_sep|>y.cpp\n2<|file_sep|>filename\n"
             "<|fim_prefix|>pb<|fim_suffix|>s<|fim_middle|>");
  const auto plain = small_tokenizer({}, {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"});
  BOOST_TEST(prompt_of(plain, text) ==
             "\n\n--- snippet ---\n\n1\n\n--- snippet ---\n\n2<fim_prefix>pb<fim_suffix>s<fim_middle>");
  text.files.clear();
  text.repository = text.name = "";
  BOOST_TEST(prompt_of(tokens, text) == "<|fim_prefix|>pb<|fim_suffix|>s<|fim_middle|>");
  BOOST_TEST(infill_ends(tokens).size() == 3U);
}

BOOST_AUTO_TEST_CASE(control_tokens_in_the_text_are_plain_text) {
  const auto tokens = small_tokenizer({}, qwen);
  const auto ids = encode_infill(tokens, {.prefix = "<|fim_middle|>", .suffix = "<|fim_middle|>"});
  BOOST_TEST(std::ranges::count(ids, *infill_tokens_of(tokens).middle) == 1);
}

BOOST_AUTO_TEST_CASE(the_token_that_begins_texts_comes_first) {
  auto spec = small_spec({}, {"<s>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>"});
  spec.bos = 256;
  spec.prefix = {256};
  BOOST_TEST(prompt_of(tokenizer(spec), {.prefix = "p", .suffix = "s"}) == "<s><fim_prefix>p<fim_suffix>s<fim_middle>");
}

BOOST_AUTO_TEST_CASE(of_too_long_a_text_remains_what_is_near_the_gap) {
  auto spec = small_spec({}, {"<P>", "<S>", "<M>"});
  spec.keys = {{"tokenizer.ggml.fim_pre_token_id", 256},
               {"tokenizer.ggml.fim_suf_token_id", 257},
               {"tokenizer.ggml.fim_mid_token_id", 258}};
  const tokenizer short_names(spec);
  const infill_text text{.prefix = "0123456789", .suffix = "abcdefghij", .files = {{"f", "XYZ"}}};
  const auto prompt = [&](std::size_t most) { return prompt_of(short_names, text, most); };
  BOOST_TEST(prompt(11) == "<P>456789<S>ab<M>");
  BOOST_TEST(prompt(19) == "<P>0123456789<S>abcdef<M>");
  BOOST_TEST(prompt(23) == "<P>0123456789<S>abcdefghij<M>");
  BOOST_TEST(prompt(25) == "YZ<P>0123456789<S>abcdefghij<M>");
  BOOST_TEST(prompt(0) == "<P><S><M>");
  for (std::size_t most = 3; most < 60; ++most) BOOST_TEST(encode_infill(short_names, text, most).size() <= most);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
