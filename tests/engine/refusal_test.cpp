#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <tuple>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(refusals)

// The error of a stream's first next(), and that a well-behaved stream beside it is untouched.
diagnostics refused(request wrong, toy_setup setup = {}, engine_options options = {.external_stepping = true}) {
  net::io_context context;
  toy_engine toy(setup, std::move(options));
  auto right = request{.prompt = token_ids{1, 2, 3}, .max_tokens = 8};
  if (setup.max_encoder_input > 0) right.encoder_input = token_ids{4};
  auto good = toy.running.generate(right);
  auto bad = toy.running.generate(std::move(wrong));
  error_code received;
  std::optional<completion> whole;
  bad.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece> piece) {
    received = code;
    BOOST_TEST(!piece.has_value());
  }));
  good.async_complete(net::bind_executor(context, [&](error_code, completion result) { whole = std::move(result); }));
  toy.settle(context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(ids_of(whole->tokens) == toy_continuation({1, 2, 3}, 8), boost::test_tools::per_element());
  BOOST_CHECK(received == bad.error().code());
  BOOST_CHECK(bad.finish() == finish_reason::failed);
  BOOST_TEST(toy.running.stats().sequences == 0);
  return bad.error();
}

void check(const diagnostics& received, error code, std::initializer_list<std::string_view> words) {
  BOOST_CHECK_EQUAL(received.code(), make_error_code(code));
  for (const auto word : words)
    BOOST_TEST(received.message().find(word) != std::string::npos, received.message() << " / " << word);
}

BOOST_AUTO_TEST_CASE(each_bad_request_gets_the_thing_the_value_and_the_limit) {
  check(refused(request{.prompt = token_ids{}}), error::invalid_request, {"prompt", "empty", "at least one"});
  check(refused(request{.prompt = token_ids{5, 97}}), error::invalid_request, {"97", "96"});
  check(refused(request{.prompt = token_ids{-1}}), error::invalid_request, {"-1", "96"});
  check(refused(request{.prompt = token_ids{1}, .max_tokens = -7}), error::invalid_request, {"max_tokens", "-7", "0"});
  check(refused(request{.prompt = token_ids{1}, .max_buffered_tokens = -1}), error::invalid_request,
        {"max_buffered_tokens", "-1"});
  check(refused(request{.prompt = token_ids{1}, .stop_token_ids = {200}}), error::invalid_request,
        {"stop token", "200", "96"});
  check(refused(request{.prompt = token_ids{1}, .stop = {""}}), error::invalid_request, {"stop"});
  check(refused(request{.prompt = token_ids{1}, .sampling = {.temperature = -1}}), error::invalid_request,
        {"temperature", "-1"});
  check(refused(request{.prompt = token_ids(64, 1)}), error::does_not_fit, {"64"});
  check(refused(request{.prompt = token_ids(1000, 1)}), error::does_not_fit, {"1000", "64"});
  check(refused(request{.prompt = token_ids(65, 1), .max_tokens = 0}), error::does_not_fit, {"65", "64"});
  BOOST_TEST(refused(request{.prompt = token_ids(64, 1)}).message() ==
             "the prompt has 64 tokens; a sequence holds 64 at most, with at least 1 generated");
  BOOST_TEST(refused(request{.prompt = token_ids(65, 1), .max_tokens = 0}).message() ==
             "the prompt has 65 tokens; a sequence holds 64 at most");
  check(refused(request{.prompt = "text"}), error::invalid_request, {"tokenizer"});
  check(refused(request{.prompt = chat("Hello.")}), error::invalid_request, {"chat", "brings no chat template"});
  check(refused(request{.prompt = chat("Hello.")}, {.chat_error = "line 3: frobnicate"}), error::invalid_request,
        {"not understood", "line 3: frobnicate"});
}

BOOST_AUTO_TEST_CASE(a_bad_encoder_input_gets_the_thing_the_value_and_the_limit) {
  const toy_setup reads{.max_encoder_input = 9};
  check(refused(request{.prompt = token_ids{1}, .encoder_input = token_ids{1, 2}}), error::invalid_request,
        {"encoder input", "no encoder"});
  check(refused(request{.prompt = token_ids{1}}, reads), error::invalid_request,
        {"encoder input", "empty", "at least one"});
  check(refused(request{.encoder_input = token_ids{}}, reads), error::invalid_request, {"encoder input", "empty"});
  check(refused(request{.encoder_input = token_ids(10, 1)}, reads), error::invalid_request,
        {"encoder input", "10", "9"});
  check(refused(request{.encoder_input = token_ids{1, 97}}, reads), error::invalid_request,
        {"encoder input", "97", "96"});
  check(refused(request{.encoder_input = "text"}, reads), error::invalid_request, {"encoder input", "tokenizer"});
  toy_engine toy(reads);
  BOOST_CHECK_THROW(std::ignore = toy.running.open(), std::invalid_argument);
  BOOST_CHECK_THROW(std::ignore = toy.running.open(std::vector<token>(10, 1)), std::invalid_argument);
  BOOST_CHECK_THROW(std::ignore = toy_engine().running.open(std::vector<token>{1, 2}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_full_engine_says_so) {
  check(refused(request{.prompt = token_ids{1}}, {}, {.limits = {.max_sequences = 1}, .external_stepping = true}),
        error::queue_full, {"1"});
}

BOOST_AUTO_TEST_CASE(a_context_that_fills_up_ends_with_length) {
  net::io_context context;
  toy_engine toy({.max_sequence_length = 10});
  auto stream = toy.running.generate({.prompt = token_ids{1, 2, 3}});
  std::optional<completion> whole;
  stream.async_complete(net::bind_executor(context, [&](error_code, completion result) { whole = std::move(result); }));
  toy.settle(context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(ids_of(whole->tokens) == toy_continuation({1, 2, 3}, 7), boost::test_tools::per_element());
  BOOST_CHECK(whole->reason == finish_reason::length);
}

BOOST_AUTO_TEST_CASE(logits_that_are_nan_end_one_request) {
  net::io_context context;
  toy_engine toy;
  toy.control->poisoned[50] = true;
  auto bad = toy.running.generate({.prompt = token_ids{50, 1}, .max_tokens = 5});
  auto good = toy.running.generate({.prompt = token_ids{2, 1}, .max_tokens = 5});
  error_code received;
  std::optional<completion> whole;
  bad.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece>) { received = code; }));
  good.async_complete(net::bind_executor(context, [&](error_code, completion result) { whole = std::move(result); }));
  toy.settle(context);
  BOOST_CHECK_EQUAL(received, make_error_code(error::bad_logits));
  BOOST_TEST(!bad.error().message().empty());
  BOOST_REQUIRE(whole);
  BOOST_TEST(whole->tokens.size() == 5u);
  BOOST_TEST(toy.running.stats().free_slots == 4);
}

BOOST_AUTO_TEST_CASE(a_processor_that_throws_ends_its_own_request) {
  net::io_context context;
  toy_engine toy;
  int calls = 0;
  auto throwing = sampling_params{.processor = [&calls](std::span<const token> history, std::span<float>) {
    ++calls;
    if (history.size() == 4) throw std::runtime_error("no rhyme found");
  }};
  auto bad = toy.running.generate({.prompt = token_ids{5, 1}, .sampling = throwing});
  auto good = toy.running.generate({.prompt = token_ids{2, 1}, .max_tokens = 5});
  std::vector<token> prefix;
  std::optional<completion> whole;
  error_code received;
  std::function<void()> read = [&] {
    bad.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece> next) {
      if (next) {
        prefix.push_back(next->tokens.front().id);
        return read();
      }
      received = code;
    }));
  };
  read();
  good.async_complete(net::bind_executor(context, [&](error_code, completion result) { whole = std::move(result); }));
  toy.settle(context);
  BOOST_TEST(prefix == toy_continuation({5, 1}, 2), boost::test_tools::per_element());
  BOOST_CHECK_EQUAL(received, make_error_code(error::callback_threw));
  BOOST_TEST(bad.error().message().find("no rhyme found") != std::string::npos);
  BOOST_TEST(calls == 3);
  BOOST_REQUIRE(whole);
  BOOST_TEST(whole->tokens.size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_completes_every_wait_at_once) {
  net::io_context context;
  std::string logged;
  toy_engine toy({}, {.external_stepping = true, .log = [&](std::string_view line) { logged = line; }});
  std::vector<token_stream> streams;
  std::vector<error_code> received(6);
  for (int i = 0; i < 6; ++i) streams.push_back(toy.running.generate({.prompt = token_ids{i}}));
  for (std::size_t i = 0; i < 6; ++i)
    streams[i].async_complete(
        net::bind_executor(context, [&received, i](error_code code, completion) { received[i] = code; }));
  for (int i = 0; i < 3; ++i) toy.running.poll_one();
  toy.control->on_step = [](const scheduler::step&) { throw std::runtime_error("the bus is on fire"); };
  toy.running.poll_one();
  context.poll();
  for (const auto& each : received) BOOST_CHECK_EQUAL(each, make_error_code(error::device_failed));
  BOOST_CHECK_EQUAL(toy.running.error().code(), make_error_code(error::device_failed));
  BOOST_TEST(toy.running.error().message().find("the bus is on fire") != std::string::npos);
  BOOST_TEST(logged.find("the bus is on fire") != std::string::npos);

  auto late = toy.running.generate({.prompt = token_ids{1}});
  error_code refused;
  late.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece>) { refused = code; }));
  context.restart();
  context.poll();
  BOOST_CHECK_EQUAL(refused, make_error_code(error::device_failed));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
