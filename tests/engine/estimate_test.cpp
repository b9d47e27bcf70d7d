// What an engine says of a request before it is asked to run it.
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(request_estimates)

toy_setup with_memory(std::int64_t budget) {
  toy_setup setup;
  setup.usage = {.fixed = 100, .per_block = 10, .block = 8};
  setup.memory_bytes = budget;
  return setup;
}

/// That it says what comes true: the tokens that the request comes to hold, and the bytes set aside for them.
void check_comes_true(toy_engine& toy, const request& wanted) {
  const auto received = toy.running.estimate(wanted);
  BOOST_TEST(received.fits());
  net::io_context context;
  std::optional<completion> whole;
  auto stream = toy.running.generate(wanted);
  stream.async_complete(net::bind_executor(context, [&](error_code, completion answer) { whole = std::move(answer); }));
  toy.running.poll_one();
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().cache_bytes == received.cache_bytes);
  toy.settle(context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(whole->usage.prompt_tokens == received.prompt_tokens);
  BOOST_TEST(whole->usage.prompt_tokens + whole->usage.generated_tokens == received.max_length);
}

BOOST_AUTO_TEST_CASE(what_it_says_comes_true) {
  toy_engine toy(with_memory(1 << 20));
  check_comes_true(toy, request{.prompt = token_ids{1, 2, 3}});
  check_comes_true(toy, request{.prompt = token_ids{1, 2, 3}, .max_tokens = 9});
  check_comes_true(toy, request{.prompt = token_ids{1, 2, 3}, .max_bytes = 140});
  check_comes_true(toy, request{.prompt = token_ids(60, 3), .max_tokens = 9});
}

BOOST_AUTO_TEST_CASE(it_counts_an_encoder_input) {
  toy_setup reads = with_memory(1 << 20);
  reads.max_encoder_input = 9;
  toy_engine toy(reads);
  const auto received = toy.running.estimate({.encoder_input = token_ids{4, 5, 6}});
  BOOST_TEST(received.fits());
  BOOST_TEST(received.encoder_tokens == 3);
  BOOST_TEST(received.prompt_tokens == 1);
}

BOOST_AUTO_TEST_CASE(it_says_the_same_as_the_stream_of_one_that_is_refused) {
  toy_engine toy(with_memory(125));
  const std::vector<request> refused{
      request{.prompt = token_ids{}},
      request{.prompt = token_ids{97}},
      request{.prompt = token_ids{1}, .max_tokens = -1},
      request{.prompt = token_ids{1}, .finish_within = std::chrono::seconds(-1)},
      request{.prompt = token_ids{1}, .sampling = {.temperature = -1}},
      request{.prompt = token_ids{1}, .stop_token_ids = {1000}},
      request{.prompt = token_ids{1}, .stop = {""}},
      request{.prompt = token_ids{1, 2}, .max_tokens = 40},
      request{.prompt = token_ids{1, 2}, .max_bytes = 105},
      request{.prompt = token_ids(64, 1)},
      request{.prompt = token_ids{1}, .encoder_input = token_ids{1}},
      request{.prompt = "text"},
      request{.prompt = chat("Hello.")},
  };
  for (const auto& each : refused) {
    const auto received = toy.running.estimate(each);
    const auto stream = toy.running.generate(each);
    BOOST_TEST(!received.fits());
    BOOST_CHECK_EQUAL(received.why_not.code(), stream.error().code());
    BOOST_TEST(received.why_not.message() == stream.error().message());
  }
  const auto too_long = toy.running.estimate({.prompt = token_ids(64, 1)});
  BOOST_TEST(too_long.prompt_tokens == 64);
  BOOST_TEST(too_long.max_length == 65);
  BOOST_TEST(too_long.cache_bytes == 190);
}

BOOST_AUTO_TEST_CASE(it_disturbs_no_request_and_needs_no_slot) {
  engine_options options;
  options.limits.max_waiting = 1;
  options.external_stepping = true;
  toy_engine toy({}, std::move(options));
  const auto queued = toy.running.generate({.prompt = token_ids{1}});
  const auto previous = toy.running.stats();
  BOOST_TEST(toy.running.estimate({.prompt = token_ids{1, 2}}).fits());
  const auto after = toy.running.stats();
  BOOST_TEST(after.queued == previous.queued);
  BOOST_TEST(after.steps == 0u);
  toy.running.stop();
  BOOST_TEST(toy.running.estimate({.prompt = token_ids{1, 2}}).fits());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
