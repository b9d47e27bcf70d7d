// What a stream reports of its prompt: log-probabilities, and the prompt itself before what is generated.
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(prompt_report)

const std::vector<token> prompt{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
constexpr int answer = 5;

/// By definition, from the logits of the toy model.
double logprob_of(std::span<const token> prefix, token next) {
  const auto scores = toy_scores(prefix);
  double total = 0;
  for (const float each : scores) total += std::exp(static_cast<double>(each));
  return scores[static_cast<std::size_t>(next)] - std::log(total);
}

void check(const std::vector<sampled_token>& reported, int alternatives) {
  BOOST_REQUIRE_EQUAL(reported.size(), prompt.size());
  BOOST_TEST(ids_of(reported) == prompt, boost::test_tools::per_element());
  BOOST_TEST(reported[0].logprob == 0);
  BOOST_TEST(reported[0].top.empty());
  for (std::size_t i = 1; i < prompt.size(); ++i) {
    const auto prefix = std::span(prompt).first(i);
    BOOST_TEST(std::abs(reported[i].logprob - logprob_of(prefix, prompt[i])) < 1e-5);
    BOOST_REQUIRE_EQUAL(std::ssize(reported[i].top), alternatives);
    for (const auto& each : reported[i].top) BOOST_TEST(std::abs(each.logprob - logprob_of(prefix, each.id)) < 1e-5);
    if (alternatives > 0) BOOST_TEST(reported[i].top[0].id == toy_next(prefix));
  }
}

struct result {
  completion whole;
  std::vector<sampled_token> prompt;
};

result report_of(toy_engine& toy, const request& wanted) {
  net::io_context context;
  auto stream = toy.running.generate(wanted);
  result received;
  stream.async_complete(net::bind_executor(context, [&](error_code code, completion whole) {
    BOOST_TEST(!code, stream.error().message());
    received.whole = std::move(whole);
  }));
  toy.settle(context);
  received.prompt = stream.prompt_logprobs();
  return received;
}

request scored(int alternatives) {
  return {.prompt = token_ids(prompt), .max_tokens = answer, .prompt_logprobs = alternatives};
}

BOOST_AUTO_TEST_CASE(each_token_of_the_prompt_has_its_log_probability_in_chunks_of_any_size) {
  for (const int chunk : {1, 2, 3, 5, 14, 64})
    for (const int depth : {1, 2}) {
      toy_engine toy({.max_batched_tokens = chunk, .depth = depth});
      const auto received = report_of(toy, scored(3));
      check(received.prompt, 3);
      BOOST_TEST(ids_of(received.whole.tokens) == toy_continuation(prompt, answer), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(the_token_that_ends_a_text_can_be_had_with_its_log_probability) {
  const auto expected = toy_continuation(prompt, answer);
  toy_engine toy({.end_tokens = {expected.back()}});
  net::io_context context;
  for (const bool ignore_eos : {false, true}) {
    auto stream = toy.running.generate(
        {.prompt = token_ids(prompt), .max_tokens = answer, .sampling = {.logprobs = 2}, .ignore_eos = ignore_eos});
    BOOST_TEST(!stream.end_token());
    std::vector<token> received;
    stream.async_complete(
        net::bind_executor(context, [&](error_code, const completion& whole) { received = ids_of(whole.tokens); }));
    toy.settle(context);
    const auto end = stream.end_token();
    BOOST_REQUIRE_EQUAL(end.has_value(), !ignore_eos);
    if (!end) continue;
    const std::vector<token> prefix(expected.begin(), std::ranges::find(expected, expected.back()));
    BOOST_TEST(received == prefix, boost::test_tools::per_element());
    BOOST_TEST(end->id == expected.back());
    auto text = prompt;
    text.insert(text.end(), prefix.begin(), prefix.end());
    BOOST_TEST(std::abs(end->logprob - logprob_of(text, end->id)) < 1e-5);
    BOOST_TEST(end->top.size() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(the_log_probabilities_alone_can_be_had) {
  toy_engine toy;
  check(report_of(toy, scored(0)).prompt, 0);
}

BOOST_AUTO_TEST_CASE(a_request_that_does_not_ask_gets_none) {
  toy_engine toy;
  BOOST_TEST(report_of(toy, {.prompt = token_ids(prompt), .max_tokens = answer}).prompt.empty());
}

BOOST_AUTO_TEST_CASE(what_others_have_run_of_it_is_run_again) {
  toy_engine toy({.spare_slots = 4});
  report_of(toy, {.prompt = token_ids(prompt), .max_tokens = answer});
  const int previous_tokens = toy.control->tokens;
  const auto received = report_of(toy, scored(2));
  check(received.prompt, 2);
  BOOST_TEST(received.whole.usage.cached_tokens == 0);
  BOOST_TEST(toy.control->tokens - previous_tokens == std::ssize(prompt) + answer - 1);
}

BOOST_AUTO_TEST_CASE(of_several_streams_the_first_reports_it_and_the_others_share_what_it_has_run) {
  toy_engine toy({.spare_slots = 4});
  net::io_context context;
  auto streams = toy.running.generate_n(scored(2), 3);
  for (auto& each : streams) each.async_complete(net::bind_executor(context, [](error_code, const completion&) {}));
  toy.settle(context);
  check(streams[0].prompt_logprobs(), 2);
  BOOST_TEST(streams[1].prompt_logprobs().empty());
  BOOST_TEST(streams[1].usage().cached_tokens == std::ssize(prompt) - 1);
  BOOST_TEST(toy.control->tokens == std::ssize(prompt) - 1 + 3 * answer);
}

BOOST_AUTO_TEST_CASE(an_echo_comes_first_and_takes_no_place_of_a_token) {
  for (const int buffered : {0, 1, 2, 16}) {
    net::io_context context;
    toy_engine toy;
    auto stream = toy.running.generate({.prompt = token_ids(prompt),
                                        .max_tokens = answer,
                                        .max_buffered_tokens = buffered,
                                        .prompt_logprobs = 1,
                                        .echo = true});
    toy.settle(context);
    BOOST_TEST(stream.usage().generated_tokens == std::min(buffered, answer));
    std::vector<piece> pieces;
    drive(toy.running, [&]() -> net::awaitable<void> {
      while (auto next = co_await stream.async_next()) pieces.push_back(std::move(*next));
    });
    BOOST_REQUIRE_EQUAL(std::ssize(pieces), 1 + answer);
    check({pieces[0].tokens.begin(), pieces[0].tokens.end()}, 1);
    std::vector<token> generated;
    for (const auto& each : std::span(pieces).subspan(1)) generated.push_back(each.tokens.at(0).id);
    BOOST_TEST(generated == toy_continuation(prompt, answer), boost::test_tools::per_element());
    check(stream.prompt_logprobs(), 1);
  }
}

BOOST_AUTO_TEST_CASE(an_echo_needs_no_log_probabilities_and_may_come_from_the_cache) {
  toy_engine toy({.spare_slots = 4});
  report_of(toy, {.prompt = token_ids(prompt), .max_tokens = answer});
  const auto whole =
      report_of(toy, {.prompt = token_ids(joined(prompt, prompt)), .max_tokens = answer, .echo = true}).whole;
  const auto expected = joined(joined(prompt, prompt), toy_continuation(joined(prompt, prompt), answer));
  BOOST_TEST(ids_of(whole.tokens) == expected, boost::test_tools::per_element());
  BOOST_TEST(whole.tokens[3].logprob == 0);
  BOOST_TEST(whole.usage.generated_tokens == answer);
}

BOOST_AUTO_TEST_CASE(an_answer_that_ends_at_once_is_echoed) {
  toy_engine toy({.end_tokens = {toy_next(prompt)}});
  const auto whole = report_of(toy, {.prompt = token_ids(prompt), .echo = true}).whole;
  BOOST_TEST(ids_of(whole.tokens) == prompt, boost::test_tools::per_element());
  BOOST_CHECK(whole.reason == finish_reason::eos);
}

BOOST_AUTO_TEST_CASE(a_prompt_alone_is_reported_and_nothing_is_generated) {
  for (const int chunk : {1, 3, 13, 14, 64})
    for (const int depth : {1, 2})
      for (const int buffered : {0, 16}) {
        toy_engine toy({.max_batched_tokens = chunk, .depth = depth});
        auto wanted = scored(2);
        wanted.max_tokens = 0;
        wanted.max_buffered_tokens = buffered;
        wanted.echo = true;
        const auto received = report_of(toy, wanted);
        check(received.prompt, 2);
        check(received.whole.tokens, 2);
        BOOST_CHECK(received.whole.reason == finish_reason::length);
        BOOST_TEST(received.whole.usage.generated_tokens == 0);
        BOOST_TEST(toy.control->tokens == std::ssize(prompt));
        BOOST_TEST(toy.running.stats().sampled == 0u);
      }
}

BOOST_AUTO_TEST_CASE(a_prompt_alone_may_take_all_that_a_sequence_holds_and_be_one_token) {
  for (const int length : {1, 64}) {
    toy_engine toy({.max_sequence_length = 64});
    const auto wanted =
        request{.prompt = token_ids(static_cast<std::size_t>(length), 1), .max_tokens = 0, .prompt_logprobs = 0};
    BOOST_TEST(toy.running.estimate(wanted).fits());
    const auto received = report_of(toy, wanted);
    BOOST_TEST(std::ssize(received.prompt) == length);
    BOOST_TEST(received.whole.tokens.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_prompt_that_was_only_read_is_cached_for_the_next) {
  const auto longer = joined(joined(prompt, prompt), prompt);
  toy_engine toy({.spare_slots = 4});
  BOOST_TEST(report_of(toy, {.prompt = token_ids(longer), .max_tokens = 0}).whole.tokens.empty());
  const auto whole = report_of(toy, {.prompt = token_ids(longer), .max_tokens = answer}).whole;
  BOOST_TEST(whole.usage.cached_tokens == std::ssize(longer) - 1);
  BOOST_TEST(ids_of(whole.tokens) == toy_continuation(longer, answer), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bad_logits_within_a_prompt_fail_its_request_alone) {
  for (const int chunk : {2, 64}) {
    net::io_context context;
    toy_engine toy({.max_batched_tokens = chunk});
    toy.control->poisoned[88] = true;
    auto good = toy.running.generate(scored(1));
    auto bad = toy.running.generate({.prompt = token_ids{1, 88, 2, 3, 4, 5}, .prompt_logprobs = 1, .echo = true});
    error_code received;
    bad.async_next(net::bind_executor(context, [&](error_code code, const std::optional<piece>&) { received = code; }));
    good.async_complete(net::bind_executor(context, [](error_code code, const completion&) { BOOST_TEST(!code); }));
    toy.settle(context);
    BOOST_CHECK_EQUAL(received, make_error_code(error::bad_logits));
    BOOST_TEST(bad.usage().generated_tokens == 0);
    check(good.prompt_logprobs(), 1);
  }
}

BOOST_AUTO_TEST_CASE(a_number_of_alternatives_beyond_the_limits_is_refused) {
  toy_engine toy;
  for (const int wrong : {-1, 129}) {
    const auto stream = toy.running.generate(scored(wrong));
    BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::invalid_request));
    BOOST_TEST(stream.error().message().find("prompt_logprobs is " + std::to_string(wrong)) != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
