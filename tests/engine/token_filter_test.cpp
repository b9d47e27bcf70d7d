// Tokens and texts that may not be generated, and prompts that are cut to their last tokens.
#include "engine/token_filter.hpp"

#include "text/small_tokenizer.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(token_filters)

using detail::token_filter;

const std::vector<token> prompt{3, 1, 4, 1, 5};
constexpr int length = 8;

request asked(std::vector<token> allowed = {}, double temperature = 0) {
  return {.prompt = token_ids(prompt),
          .max_tokens = length,
          .sampling = {.temperature = temperature, .seed = 5},
          .allowed_token_ids = std::move(allowed)};
}

struct outcome {
  std::vector<token> tokens;
  std::string error;
};

outcome read(toy_engine& toy, request wanted) {
  net::io_context context;
  auto stream = toy.running.generate(std::move(wanted));
  outcome result;
  stream.async_complete(
      net::bind_executor(context, [&](error_code, const completion& whole) { result.tokens = ids_of(whole.tokens); }));
  toy.settle(context);
  result.error = stream.error().message();
  return result;
}

outcome read(request wanted) {
  toy_engine toy;
  return read(toy, std::move(wanted));
}

/// What each row's logits become, all of which were 0.
std::set<token> forbidden(const token_filter& filter, const std::vector<token>& generated, int vocabulary) {
  std::vector<float> logits(static_cast<std::size_t>(vocabulary));
  filter.apply(generated, logits);
  std::set<token> found;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (std::isinf(logits[i])) found.insert(static_cast<token>(i));
  return found;
}

/// A model's tokenizer, whose space is as the bytes are.
text::tokenizer words() { return small_tokenizer({{"a", "b"}, {"ab", "c"}, {"Ġ", "x"}}); }

token_filter filter_of(const text::tokenizer& tokens, std::vector<std::string> bad) {
  return {{.bad_words = std::move(bad)}, &tokens, static_cast<int>(tokens.size())};
}

BOOST_AUTO_TEST_CASE(only_allowed_tokens_are_generated_at_any_temperature) {
  const std::vector<token> allowed{7, 11, 60};
  for (const double temperature : {0.0, 9.0}) {
    const auto said = read(asked(allowed, temperature));
    BOOST_TEST(said.tokens.size() == static_cast<std::size_t>(length));
    for (const token each : said.tokens) BOOST_TEST(std::ranges::count(allowed, each) == 1);
  }
  BOOST_TEST(read(asked()).tokens == toy_continuation(prompt, length), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_processor_cannot_allow_others) {
  auto wanted = asked({7, 11});
  wanted.sampling.processor = [](std::span<const token>, std::span<float> logits) { logits[60] = 1000; };
  for (const token each : read(std::move(wanted)).tokens) BOOST_TEST((each == 7 || each == 11));
}

BOOST_AUTO_TEST_CASE(a_text_of_one_token_is_forbidden_always_and_of_more_after_the_others) {
  const auto tokens = words();
  const int size = static_cast<int>(tokens.size());
  const auto id = [&](std::string_view text) { return tokens.encode(text).front(); };
  BOOST_TEST_REQUIRE(tokens.encode("abc").size() == 1u);
  const auto filter = filter_of(tokens, {"abc"});
  BOOST_TEST((forbidden(filter, {}, size) == std::set{id("abc")}));
  const auto two = filter_of(tokens, {"abcz"});
  BOOST_TEST(forbidden(two, {}, size).empty());
  BOOST_TEST(forbidden(two, {id("z")}, size).empty());
  BOOST_TEST((forbidden(two, {id("z"), id("abc")}, size) == std::set{id("z")}));
}

BOOST_AUTO_TEST_CASE(a_text_is_forbidden_with_a_space_in_front_too) {
  const auto tokens = words();
  const int size = static_cast<int>(tokens.size());
  BOOST_TEST_REQUIRE(tokens.encode(" x").size() == 1u);
  const std::set both{tokens.encode("x").front(), tokens.encode(" x").front()};
  for (const std::string word : {"x", "  x"}) BOOST_TEST((forbidden(filter_of(tokens, {word}), {}, size) == both));
}

BOOST_AUTO_TEST_CASE(what_is_too_much_is_refused_with_thing_value_and_limit) {
  const auto why = [](auto change) {
    auto wanted = asked();
    change(wanted);
    return read(std::move(wanted)).error;
  };
  BOOST_TEST(why([](request& wanted) { wanted.allowed_token_ids = {97}; }) ==
             "allowed_token_ids has token 97; the vocabulary ends at 96");
  BOOST_TEST(why([](request& wanted) { wanted.allowed_token_ids = token_ids(98, 1); }) ==
             "allowed_token_ids has 98 tokens; the vocabulary has 97");
  BOOST_TEST(why([](request& wanted) { wanted.bad_words = {"a", ""}; }) == "bad_words[1] is empty");
  BOOST_TEST(why([](request& wanted) { wanted.bad_words.assign(1025, "a"); }) ==
             "bad_words has 1025 texts; it may have 1024");
  BOOST_TEST(why([](request& wanted) { wanted.bad_words.assign(1, std::string(16385, 'a')); }) ==
             "bad_words has 16385 bytes; it may have 16384");
  BOOST_TEST(why([](request& wanted) { wanted.bad_words = {"a"}; }) ==
             "bad_words are texts, and this engine has no tokenizer");
  BOOST_TEST(why([](request& wanted) { wanted.truncate_prompt = 0; }) == "truncate_prompt is 0; it must be at least 1");
  const auto tokens = small_tokenizer({});
  request wanted{.bad_words = {"a"}, .allowed_token_ids = tokens.encode("a")};
  BOOST_CHECK_THROW(token_filter(wanted, &tokens, static_cast<int>(tokens.size())), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(white_space_that_a_tokenizer_drops_forbids_nothing) {
  auto spec = small_spec({});
  spec.normalizer = {text::strip_step{true, true}};
  const text::tokenizer tokens(std::move(spec));
  BOOST_TEST(tokens.encode(" ").empty());
  const auto filter = filter_of(tokens, {" ", "\t\n", "b"});
  BOOST_TEST(forbidden(filter, {}, static_cast<int>(tokens.size())) == std::set{tokens.encode("b").front()},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_estimate_has_the_same_sentence) {
  toy_engine toy;
  const auto estimate = toy.running.estimate(asked({97}));
  BOOST_TEST(estimate.why_not.message() == "allowed_token_ids has token 97; the vocabulary ends at 96");
}

BOOST_AUTO_TEST_CASE(a_truncated_prompt_is_its_last_tokens) {
  for (const int kept : {1, 3, 5, 9}) {
    auto wanted = asked();
    wanted.truncate_prompt = kept;
    const auto last = std::vector(prompt.end() - std::min<std::ptrdiff_t>(kept, std::ssize(prompt)), prompt.end());
    BOOST_TEST(read(wanted).tokens == toy_continuation(last, length), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_prompt_longer_than_a_sequence_may_be_truncated) {
  toy_engine toy;
  auto wanted = asked();
  wanted.prompt = token_ids(5000, 4);
  BOOST_TEST(read(toy, wanted).error != "");
  wanted.truncate_prompt = 2;
  BOOST_TEST(read(toy, wanted).tokens == toy_continuation({4, 4}, length), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
