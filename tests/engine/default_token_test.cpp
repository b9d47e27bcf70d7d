// What an operation returns without a completion token, by the executor type of its handle.
#include "external_stepping.hpp"
#include "toy_runner.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace cogen::test {
namespace {

using awaitable_stream = net::use_awaitable_t<>::as_default_on_t<token_stream>;
using awaitable_sequence = net::use_awaitable_t<>::as_default_on_t<sequence>;

static_assert(
    std::same_as<decltype(std::declval<awaitable_stream&>().async_next()), net::awaitable<std::optional<piece>>>);
static_assert(std::same_as<decltype(std::declval<awaitable_sequence&>().async_suspend()), net::awaitable<void>>);
static_assert(
    std::same_as<token_stream::rebind_executor<net::any_io_executor>::other, basic_token_stream<net::any_io_executor>>);
static_assert(!std::is_copy_constructible_v<token_stream> && !std::is_copy_constructible_v<sequence>);
static_assert(std::is_nothrow_constructible_v<awaitable_stream, token_stream> &&
              std::is_nothrow_constructible_v<awaitable_sequence, sequence>);

BOOST_AUTO_TEST_SUITE(default_tokens)

BOOST_AUTO_TEST_CASE(co_await_takes_operations_without_a_token) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 3});
    BOOST_CHECK(!stream.finish());
    BOOST_TEST(ids_of((co_await stream.async_complete()).tokens) == toy_continuation({4, 4}, 3),
               boost::test_tools::per_element());
    BOOST_CHECK(stream.finish() == finish_reason::length);
    BOOST_CHECK(!(co_await stream.async_next()));
    auto seq = toy.running.open();
    co_await seq.async_forward({7});
    BOOST_TEST((co_await seq.async_decode()).id == toy_next(std::vector<token>{7}));
    co_await toy.running.async_drain();
  });
}

BOOST_AUTO_TEST_CASE(a_handle_with_another_default_token_takes_over_the_generation) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    using namespace net::experimental::awaitable_operators;
    auto first = net::use_awaitable_t<>::as_default_on(toy.running.generate({.prompt = token_ids{5}, .max_tokens = 2}));
    awaitable_stream second = toy.running.generate({.prompt = token_ids{6}, .max_tokens = 2});
    const auto [first_answer, second_answer] = co_await (first.async_complete() && second.async_complete());
    BOOST_TEST(ids_of(first_answer.tokens) == toy_continuation({5}, 2), boost::test_tools::per_element());
    BOOST_TEST(ids_of(second_answer.tokens) == toy_continuation({6}, 2), boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(a_handle_may_have_any_executor_type) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    basic_sequence<net::any_io_executor> seq = toy.running.open();
    co_await seq.async_forward({7}, logits_of::last, net::deferred);
    auto fork = seq.fork();
    BOOST_TEST(fork.tokens() == std::vector<token>{7}, boost::test_tools::per_element());
    BOOST_CHECK(seq.get_executor() == net::any_io_executor(toy.running.get_executor()));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
