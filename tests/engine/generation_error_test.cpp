// Each operation that fails: `co_await` throws the sentence, other tokens report the code.
#include "external_stepping.hpp"
#include "toy_runner.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string_view>
#include <utility>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;

/// Checks what awaiting `operation` throws.
template <class Operation>
net::awaitable<void> fails(Operation operation, error_code code, std::string_view sentence) {
  bool thrown = false;
  try {
    static_cast<void>(co_await std::move(operation));
  } catch (const generation_error& e) {
    thrown = true;
    BOOST_TEST(e.code() == code);
    BOOST_TEST(e.what() == sentence);
    BOOST_TEST(e.why().code() == code);
    BOOST_TEST(e.why().message() == sentence);
  }
  BOOST_TEST(thrown, sentence);
}

constexpr std::string_view no_such_token = "token 97 does not exist; the vocabulary ends at 96";

}  // namespace

BOOST_AUTO_TEST_SUITE(generation_errors)

BOOST_AUTO_TEST_CASE(reading_a_stream_that_failed_throws_why) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto stream = toy.running.generate({.prompt = token_ids{97}});
    const auto why = stream.error();
    BOOST_TEST((why.code() == error::invalid_request));
    BOOST_TEST(why.message().find("97") != std::string::npos, why.message());
    co_await fails(stream.async_next(), why.code(), why.message());
    co_await fails(stream.async_next_for(1s), why.code(), why.message());
    co_await fails(stream.async_complete(), why.code(), why.message());
  });
}

BOOST_AUTO_TEST_CASE(an_operation_of_a_sequence_throws_why) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto seq = toy.running.open();
    co_await fails(seq.async_forward({97}), error::invalid_request, no_such_token);
    co_await fails(seq.async_decode({97}), error::invalid_request, no_such_token);
    toy.running.stop();
    const auto stopped = toy.running.error();
    co_await fails(seq.async_forward({1}), stopped.code(), stopped.message());
    co_await fails(seq.async_suspend(), stopped.code(), stopped.message());
    co_await fails(seq.async_save("never"), stopped.code(), stopped.message());
    co_await fails(toy.running.async_drain(), stopped.code(), stopped.message());
  });
}

BOOST_AUTO_TEST_CASE(opening_a_missing_file_throws_why) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    co_await fails(toy.running.async_load_session("/nonexistent/a.session"),
                   make_error_code(boost::system::errc::no_such_file_or_directory),
                   "session /nonexistent/a.session: it cannot be opened: No such file or directory");
  });
}

BOOST_AUTO_TEST_CASE(a_second_operation_names_the_pending_one) {
  toy_engine toy;
  toy.control->hold = true;
  drive(toy.running, [&]() -> net::awaitable<void> {
    const auto conflict = make_error_code(error::operation_in_progress);
    auto stream = toy.running.generate({.prompt = token_ids{1}});
    stream.async_next([](error_code, std::optional<piece>) {});
    co_await fails(stream.async_next(), conflict, "an async_next() is pending on this stream");
    auto other = toy.running.generate({.prompt = token_ids{1}});
    other.async_complete([](error_code, completion) {});
    co_await fails(other.async_next(), conflict, "an async_complete() is pending on this stream");
    auto seq = toy.running.open();
    seq.async_forward({1}, logits_of::last, [](error_code, logits) {});
    co_await fails(seq.async_decode(), conflict, "an async_forward() is pending on this sequence");
    BOOST_CHECK_EXCEPTION(seq.truncate(0), generation_error, [](const generation_error& e) {
      return std::string_view(e.what()) == "an async_forward() is pending on this sequence";
    });
    BOOST_CHECK_THROW(std::ignore = seq.fork(), generation_error);
    toy.running.stop();
  });
}

BOOST_AUTO_TEST_CASE(a_limit_of_time_and_a_cancellation_have_the_messages_of_their_codes) {
  toy_engine toy;
  toy.control->hold = true;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto stream = toy.running.generate({.prompt = token_ids{1}});
    co_await fails(stream.async_next_for(0s), error::timed_out, make_error_code(error::timed_out).message());
    toy.running.stop();
  });
}

BOOST_AUTO_TEST_CASE(other_tokens_report_the_code) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto seq = toy.running.open();
    const auto [tuple_code, nothing] =
        co_await seq.async_forward({97}, logits_of::last, net::as_tuple(net::use_awaitable));
    BOOST_TEST((tuple_code == error::invalid_request));
    error_code redirected;
    co_await seq.async_forward({97}, logits_of::last, net::redirect_error(net::use_awaitable, redirected));
    BOOST_TEST((redirected == error::invalid_request));
    const auto [deferred_code, none] = co_await seq.async_decode({97}, {}, net::as_tuple(net::deferred));
    BOOST_TEST((deferred_code == error::invalid_request));
  });
  auto seq = toy.running.open();
  auto future = seq.async_forward({97}, logits_of::last, net::use_future);
  toy.running.poll_one();
  BOOST_CHECK_EXCEPTION(future.get(), boost::system::system_error,
                        [](const auto& e) { return e.code() == error::invalid_request; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
