// Generations and sequences that a guide constrains, sampled by the host and by a device.
#include "guided_engine.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;
BOOST_AUTO_TEST_SUITE(guides)

BOOST_DATA_TEST_CASE(a_text_is_one_that_the_guide_allows_and_the_likeliest_of_them, data::make(sampled_at_any_time),
                     how) {
  guided_engine toy(how, {.end_tokens = {96}});
  check_said(ask(toy, constrained(only({{5, 60, 90}}))), {5, 60, 90}, finish_reason::eos);
  const auto likelier = toy_next(std::vector<token>{4, 4, 5});
  const auto other = (likelier + 1) % 90;
  check_said(ask(toy, constrained(only({{5, other, 7}, {5, likelier, 8}}))), {5, likelier, 8}, finish_reason::eos);
}

BOOST_DATA_TEST_CASE(guided_and_free_requests_share_steps, data::make(sampled_at_any_time), how) {
  guided_engine toy(how, {.end_tokens = {96}});
  const request free{.prompt = token_ids{1, 2}, .max_tokens = 12, .sampling = hot(3), .ignore_eos = true};
  const auto alone = ask(toy, free);
  const auto chained_alone = toy.chained;
  const auto said = ask(toy, {constrained(only({{5, 60, 90}})), free, constrained(only({{9, 9, 9, 9}}), hot(1))});
  check_said(said[0], {5, 60, 90}, finish_reason::eos);
  check_said(said[1], alone.tokens, finish_reason::length);
  check_said(said[2], {9, 9, 9, 9}, finish_reason::eos);
  BOOST_TEST((chained_alone > 0) == (how.depth > 1));
}

BOOST_DATA_TEST_CASE(rows_of_a_guide_are_never_chained, data::make(sampled_at_any_time), how) {
  guided_engine toy(how);
  ask(toy, {constrained(only({{5, 60, 90}})), constrained(only({{1, 2, 3, 4, 5}}), hot(2))});
  BOOST_TEST(toy.chained == 0);
}

BOOST_DATA_TEST_CASE(random_choices_are_those_of_the_host, data::make(sampled_at_any_time), how) {
  texts words;
  for (token first = 0; first < 90; first += 3)
    for (token second = 1; second < 90; second += 11) words.push_back({first, second, (first + second) % 7});
  std::vector<request> requests;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto params = hot(seed);
    if (seed % 2 == 0) params.top_k = 4;
    if (seed % 3 == 0) params.top_p = 0.6;
    if (seed % 4 == 0) params.repetition_penalty = 1.5;
    requests.push_back(constrained(only(words), params));
  }
  guided_engine host;
  const auto expected = ask(host, requests);
  guided_engine other(how);
  const auto found = ask(other, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    BOOST_TEST(std::ranges::count(words, found[i].tokens) == 1);
    BOOST_TEST(found[i].tokens == expected[i].tokens, boost::test_tools::per_element());
  }
}

BOOST_DATA_TEST_CASE(end_tokens_come_only_where_the_text_is_complete, data::make(sampled_at_any_time), how) {
  const auto likeliest = toy_continuation({4, 4}, 1);
  guided_engine toy(how, {.end_tokens = likeliest});  // the model would say it at once
  check_said(ask(toy, constrained(only({{5, 60, 90}}))), {5, 60, 90}, finish_reason::eos);
  check_said(ask(toy, constrained(only({{}, {5, 60, 90}}))), {}, finish_reason::eos);
  check_said(ask(toy, constrained(only({{likeliest[0], 5}, {6}}))), {6}, finish_reason::eos);
}

BOOST_DATA_TEST_CASE(a_complete_text_may_go_on, data::make(sampled_at_any_time), how) {
  guided_engine toy(how, {.end_tokens = {96}});
  const auto next = toy_next(std::vector<token>{4, 4, 5});
  check_said(ask(toy, constrained(only({{5}, {5, next, 8}}))), {5, next, 8}, finish_reason::eos);
}

BOOST_DATA_TEST_CASE(without_end_tokens_a_text_ends_where_nothing_may_follow, data::make(sampled_at_any_time), how) {
  guided_engine toy(how);
  check_said(ask(toy, constrained(only({{5}, {5, 60}}))), {5, 60}, finish_reason::eos);
  auto ignoring = constrained(only({{5}, {5, 60}}));
  ignoring.ignore_eos = true;
  guided_engine ended(how, {.end_tokens = {96}});
  check_said(ask(ended, ignoring), {5, 60}, finish_reason::eos);
}

BOOST_DATA_TEST_CASE(min_tokens_holds_back_the_end_while_something_else_may_follow, data::make(sampled_at_any_time),
                     how) {
  const auto end = toy_next(std::vector<token>{4, 4, 5});
  guided_engine toy(how, {.end_tokens = {end}});
  const auto grammar = only({{5}, {5, (end + 1) % 90}});
  check_said(ask(toy, constrained(grammar)), {5}, finish_reason::eos);
  check_said(ask(toy, constrained(grammar, {.min_tokens = 2})), {5, (end + 1) % 90}, finish_reason::eos);
  check_said(ask(toy, constrained(grammar, {.min_tokens = 9})), {5, (end + 1) % 90}, finish_reason::eos);
}

BOOST_DATA_TEST_CASE(stop_tokens_end_a_text_only_where_it_is_complete, data::make(sampled_at_any_time), how) {
  guided_engine toy(how);
  auto stopping = constrained(only({{5, 60}, {5, 60, 61, 62}}));
  stopping.stop_token_ids = {toy_next(std::vector<token>{4, 4}), toy_next(std::vector<token>{4, 4, 5, 60})};
  check_said(ask(toy, stopping), {5, 60}, finish_reason::eos);
}

BOOST_DATA_TEST_CASE(max_tokens_may_cut_a_text_and_the_reason_says_so, data::make(sampled_at_any_time), how) {
  guided_engine toy(how);
  auto cut = constrained(only({{5, 60, 90}}));
  cut.max_tokens = 2;
  check_said(ask(toy, cut), {5, 60}, finish_reason::length);
  cut.max_tokens = 3;
  check_said(ask(toy, cut), {5, 60, 90}, finish_reason::eos);
}

BOOST_DATA_TEST_CASE(no_bias_and_no_processor_brings_back_what_is_excluded, data::make(sampled_at_any_time), how) {
  guided_engine toy(how, {.end_tokens = {96}});
  const sampling_params biased{.logit_bias = {{70, 1e9}, {96, 1e9}}};
  sampling_params processed;
  processed.processor = [](auto, std::span<float> logits) { std::ranges::fill(logits, 3.0F), logits[70] = 99; };
  sampling_params reporting{.logprobs = 2};
  for (const auto& each : {biased, processed, reporting})
    check_said(ask(toy, constrained(only({{5, 60, 90}}), each)), {5, 60, 90}, finish_reason::eos);
}

BOOST_AUTO_TEST_CASE(log_probabilities_are_those_of_the_model) {
  guided_engine toy;
  net::io_context context;
  std::optional<completion> whole;
  auto stream = toy.running.generate(constrained(only({{5, 60}}), {.logprobs = 1}));
  stream.async_complete(net::bind_executor(context, [&](error_code, completion answer) { whole = std::move(answer); }));
  toy.settle(context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(whole->tokens[0].logprob < -5);
  BOOST_TEST(whole->tokens[0].top[0].id == toy_next(std::vector<token>{4, 4}));
}

BOOST_DATA_TEST_CASE(each_of_several_streams_has_a_guide_of_its_own, data::make(sampled_at_any_time), how) {
  guided_engine toy(how, {.slots = 4, .spare_slots = 4});
  texts words;
  for (token first = 0; first < 90; ++first) words.push_back({first, (first * 7) % 90, first});
  auto said = outcomes(toy, toy.running.generate_n(constrained(only(words), hot(5)), 6));
  for (const auto& each : said) {
    BOOST_TEST(std::ranges::count(words, each.tokens) == 1);
    BOOST_CHECK(each.reason == finish_reason::eos);
  }
  std::ranges::sort(said, {}, &guided_outcome::tokens);
  BOOST_CHECK(said.front().tokens != said.back().tokens);
}

BOOST_DATA_TEST_CASE(a_guide_that_throws_fails_its_own_request, data::make(sampled_at_any_time), how) {
  const request free{.prompt = token_ids{1, 2}, .max_tokens = 12, .sampling = hot(3)};
  for (const std::string_view member : {"allow", "accept", "is_complete"})
    for (int call = 0; call < 3; ++call) {
      guided_engine toy(how, {.end_tokens = {96}});
      const auto alone = ask(toy, free);
      const auto grammar = only({{5, 60, 90}}, [&, left = call](std::string_view called) mutable {
        if (called == member && left-- == 0) throw std::runtime_error("no more of this");
      });
      const auto said = ask(toy, {free, constrained(grammar), constrained(only({{5, 60, 90}}))});
      check_said(said[0], alone.tokens, finish_reason::length);
      check_failed(said[1], error::callback_threw, "the guide threw: no more of this");
      check_said(said[2], {5, 60, 90}, finish_reason::eos);
      BOOST_TEST(toy.running.stats().free_slots == 4);
    }
}

BOOST_DATA_TEST_CASE(a_guide_that_allows_nothing_fails_its_own_request, data::make(sampled_at_any_time), how) {
  guided_engine toy(how, {.end_tokens = {96}});
  check_failed(ask(toy, constrained(only({{5, 60, 96}}))), error::invalid_request,
               "the guide allows no token after the first 2 of its text");
  check_failed(ask(toy, constrained(only({}))), error::invalid_request, "after the first 0");
  sampling_params contrary{.logit_bias = {{5, -std::numeric_limits<double>::infinity()}}};
  check_failed(ask(toy, constrained(only({{5, 60}}), contrary)), error::invalid_request,
               "logit_bias forbids all tokens that the response format allows");
}

BOOST_AUTO_TEST_CASE(what_is_no_format_here_is_refused) {
  toy_engine toy;
  check_failed(ask(toy, constrained(nullptr)), error::invalid_request, "a guide that is null");
  check_failed(ask(toy, {.prompt = token_ids{1}, .response_format = compiled_format()}), error::invalid_request,
               "holds nothing");
  check_failed(ask(toy, {.prompt = token_ids{1}, .response_format = json_object()}), error::invalid_request,
               "needs a tokenizer");
  BOOST_TEST(toy.running.estimate({.prompt = token_ids{1}, .response_format = json_object()})
                 .why_not.message()
                 .find("needs a tokenizer") != std::string::npos);
  const auto clones = only({{1}}, [](std::string_view member) {
    if (member == "clone") throw std::runtime_error("there is only one");
  });
  check_failed(ask(toy, constrained(clones)), error::invalid_request, "there is only one");
}

BOOST_AUTO_TEST_CASE(a_sequence_samples_what_its_guide_allows_from_where_it_was_constrained) {
  guided_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open();
    co_await sequence.async_forward({1, 2});
    sequence.constrain(std::make_unique<text_guide>(texts{{5, 60, 90, 91}}));
    BOOST_TEST((co_await sequence.async_decode()).id == 5);
    BOOST_TEST((co_await sequence.async_decode({60})).id == 90);  // what is fed counts, too
    sequence.constrain(nullptr);
    BOOST_TEST((co_await sequence.async_decode()).id == toy_next(std::vector<token>{1, 2, 5, 60, 90}));
  });
}

BOOST_AUTO_TEST_CASE(forks_clone_the_guide_and_truncation_rolls_it_back) {
  guided_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto parent = toy.running.open();
    parent.constrain(std::make_unique<text_guide>(texts{{5, 60, 90}, {7, 61, 91}}));
    const auto first = (co_await parent.async_decode({5})).id;
    auto child = parent.fork();
    parent.truncate(0);
    BOOST_TEST(first == 60);
    BOOST_TEST((co_await parent.async_decode({7})).id == 61);
    BOOST_TEST((co_await child.async_decode()).id == 90);
    child.truncate(1);
    BOOST_TEST((co_await child.async_decode()).id == 60);
    BOOST_TEST((co_await parent.async_decode()).id == 91);
  });
}

BOOST_AUTO_TEST_CASE(a_token_that_the_guide_does_not_accept_fails_the_operation_and_leaves_the_sequence_as_it_was) {
  guided_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open();
    sequence.constrain(std::make_unique<text_guide>(texts{{5, 60, 90}}));
    co_await sequence.async_decode({5});
    error_code received;
    co_await sequence.async_decode({90, 8}, sampling_params{}, net::redirect_error(net::use_awaitable, received));
    BOOST_CHECK_EQUAL(received, make_error_code(error::callback_threw));
    BOOST_TEST(sequence.error().message().find("token 8") != std::string::npos, sequence.error().message());
    BOOST_TEST(sequence.tokens() == (std::vector<token>{5, 60}), boost::test_tools::per_element());
    BOOST_TEST((co_await sequence.async_decode()).id == 90);
    co_await sequence.async_decode({}, sampling_params{}, net::redirect_error(net::use_awaitable, received));
    BOOST_CHECK_EQUAL(received, make_error_code(error::invalid_request));
  });
}

BOOST_DATA_TEST_CASE(a_cancelled_decode_is_taken_back, data::make(sampled_at_any_time) * data::make({0, 1, 2}), how,
                     rounds) {
  guided_engine toy(how);
  net::io_context context;
  auto sequence = toy.running.open();
  sequence.constrain(std::make_unique<text_guide>(texts{{5, 60, 90}, {7, 61, 91}}));
  net::cancellation_signal signal;
  sequence.async_decode(
      {5}, sampling_params{},
      net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [](error_code, sampled_token) {})));
  for (int i = 0; i < rounds; ++i) toy.running.poll_one();
  signal.emit(net::cancellation_type::terminal);
  std::optional<token> sampled;
  if (sequence.tokens().empty())
    sequence.async_decode({7}, sampling_params{},
                          net::bind_executor(context, [&](error_code, sampled_token got) { sampled = got.id; }));
  for (int i = 0; i < 20 && !sampled; ++i) go_on(toy, context, 1);
  BOOST_TEST((sampled == 61 || !sequence.tokens().empty()));
}

BOOST_AUTO_TEST_CASE(a_sequence_is_not_constrained_while_an_operation_is_pending) {
  guided_engine toy;
  net::io_context context;
  auto sequence = toy.running.open();
  sequence.async_forward({1}, logits_of::last, net::bind_executor(context, [](error_code, const logits&) {}));
  BOOST_CHECK_THROW(sequence.constrain(nullptr), generation_error);
  toy.settle(context);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
