// Strategies of a program's own, and what they may do wrong.
#include "engine/toy_runner.hpp"

#include <cogen/strategy.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

using namespace net::experimental::awaitable_operators;

const std::vector<token> prompt{3, 1, 4};

struct fixture {
  using body = std::function<net::awaitable<void>(strategy_input, strategy_output&)>;

  token_stream generate(body run, int max_buffered_tokens = 16) {
    return toy.running.generate({.prompt = prompt, .max_tokens = 9, .max_buffered_tokens = max_buffered_tokens},
                                strategy{.run = std::move(run)});
  }

  std::vector<token> read(token_stream& stream) {
    std::vector<token> received;
    stream.async_complete(
        net::bind_executor(context, [&](error_code, const completion& whole) { received = ids_of(whole.tokens); }));
    toy.settle(context);
    return received;
  }

  net::io_context context;
  std::vector<std::string> logged;
  toy_engine toy{{}, {.external_stepping = true, .log = [this](std::string_view line) { logged.emplace_back(line); }}};
};

BOOST_FIXTURE_TEST_SUITE(own_strategies, fixture)

BOOST_AUTO_TEST_CASE(one_without_a_coroutine_is_refused) {
  BOOST_CHECK_EXCEPTION(std::ignore = toy.running.generate({.prompt = prompt}, strategy{}), std::invalid_argument,
                        [](const auto& error) {
                          BOOST_TEST(error.what() == "strategy.run is empty; it makes the coroutine");
                          return true;
                        });
}

BOOST_AUTO_TEST_CASE(what_strategies_do_not_take_fails_the_stream_at_once) {
  const auto why_not = [&](auto change) {
    request wanted{.prompt = prompt, .max_tokens = 9};
    change(wanted);
    const auto stream = toy.running.generate(
        std::move(wanted), strategy{.run = [](strategy_input, strategy_output&) { return net::awaitable<void>(); }});
    BOOST_TEST(stream.ended());
    BOOST_CHECK(stream.error().code() == error::invalid_request);
    return stream.error().message();
  };
  BOOST_TEST(why_not([](request& wanted) { wanted.max_tokens = 0; }) ==
             "max_tokens is 0; strategies generate at least 1 token");
  BOOST_TEST(why_not([](request& wanted) { wanted.response_format = json_object(); }) ==
             "response_format is set; strategies take no format");
  BOOST_TEST(why_not([](request& wanted) { wanted.reasoning_budget = 1; }) ==
             "tool_choice or reasoning_budget is set; strategies take neither");
  BOOST_TEST(why_not([](request& wanted) { wanted.allowed_token_ids = {1}; }) ==
             "bad_words or allowed_token_ids is set; strategies take neither");
}

BOOST_AUTO_TEST_CASE(one_that_never_waits_ends_without_an_error) {
  for (const bool finishes : {false, true}) {
    auto stream = generate([&](strategy_input, strategy_output& output) -> net::awaitable<void> {
      output.write({.id = 7});
      if (finishes) output.finish(finish_reason::eos);
      co_return;
    });
    BOOST_TEST(read(stream) == std::vector<token>{7}, boost::test_tools::per_element());
    BOOST_CHECK(stream.finish() == (finishes ? finish_reason::eos : finish_reason::aborted));
  }
  auto failing = generate([](strategy_input, strategy_output&) -> net::awaitable<void> {
    throw std::runtime_error("no idea");
    co_return;
  });
  BOOST_TEST(read(failing).empty());
  BOOST_TEST(failing.error().message() == "no idea");
  BOOST_TEST(logged.empty());
}

BOOST_AUTO_TEST_CASE(one_whose_reader_goes_before_it_begins_does_not_begin) {
  bool begun = false;
  std::optional<token_stream> stream;
  net::post(toy.running.get_executor(), [&] {
    stream = generate([&](strategy_input, strategy_output&) -> net::awaitable<void> {
      begun = true;
      co_return;
    });
  });
  toy.running.poll_one();
  stream.reset();
  toy.settle(context);
  BOOST_TEST(!begun);
  BOOST_TEST(logged.empty());
  BOOST_TEST(toy.running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(a_second_wait_for_the_reader_is_refused_and_the_first_goes_on) {
  std::optional<error_code> second;
  auto stream = generate(
      [&](strategy_input, strategy_output& output) -> net::awaitable<void> {
        for (const token id : {5, 6}) output.write({.id = id});
        const auto again = [&]() -> net::awaitable<void> {
          error_code code;
          co_await output.async_ready(net::redirect_error(net::use_awaitable, code));
          second = code;
        };
        co_await (output.async_ready(net::use_awaitable) && again());
        output.write({.id = 7});
        output.finish(finish_reason::eos);
      },
      1);
  BOOST_TEST(read(stream) == (std::vector<token>{5, 6, 7}), boost::test_tools::per_element());
  BOOST_CHECK(second == error::operation_in_progress);
  BOOST_TEST(logged.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
