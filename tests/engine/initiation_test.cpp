// Completion tokens that ask an operation for its executor, and those that keep the sentence of a failure.
#include "external_stepping.hpp"
#include "toy_runner.hpp"

#include <cogen/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/experimental/coro.hpp>
#include <boost/asio/experimental/use_coro.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/version.hpp>
#include <boost/test/unit_test.hpp>
#if BOOST_ASIO_VERSION >= 103100
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancel_at.hpp>
#endif

#include <chrono>
#include <concepts>
#include <exception>
#include <filesystem>
#include <future>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace cogen::test {

/// Gives the executor of an operation that it does not start.
struct executor_token {};

}  // namespace cogen::test

template <class Signature>
class boost::asio::async_result<cogen::test::executor_token, Signature> {
 public:
  template <class Initiation, class... Args>
  static any_io_executor initiate(Initiation&& initiation, cogen::test::executor_token, Args&&...) {
    static_assert(std::convertible_to<typename std::decay_t<Initiation>::executor_type, any_io_executor>);
    return get_associated_executor(initiation);
  }
};

namespace cogen::test {
namespace {

constexpr std::string_view missing = "session /nonexistent/a.session: it cannot be opened: No such file or directory";

BOOST_AUTO_TEST_SUITE(initiations)

BOOST_AUTO_TEST_CASE(have_the_executor_of_handlers_without_an_own_one) {
  toy_engine toy;
  const net::any_io_executor expected = toy.running.get_executor();
  auto stream = toy.running.generate({.prompt = token_ids{1}});
  auto seq = toy.running.open();
  const executor_token token;
  for (const net::any_io_executor& each :
       {stream.async_next(token), stream.async_next_for({}, token), stream.async_complete(token),
        stream.async_prompt_progress(token), seq.async_forward({1}, logits_of::last, token),
        seq.async_decode({}, {}, token), seq.async_suspend(token), seq.async_save("never", token),
        toy.running.async_drain(token), toy.running.async_load_session("never", {}, token),
        toy.running.async_embed({}, token), toy.running.async_score({}, token),
        toy.running.async_compile(json_object(), token), toy.running.async_embed({}, work_options{.tenant = 1}, token),
        toy.running.async_score({}, work_options{.tenant = 1}, token),
        toy.running.async_compile(json_object(), work_options{.tenant = 1}, token)})
    BOOST_TEST((each == expected));
  toy.running.stop();
  BOOST_TEST((stream.async_next(token) == net::any_io_executor(net::system_executor())));
}

net::experimental::coro<void, std::vector<token>> read(net::any_io_executor, token_stream& stream) {
  std::vector<token> ids;
  while (const auto piece = co_await stream.async_next(net::experimental::use_coro))
    ids.push_back(piece->tokens.front().id);
  co_return ids;
}

net::experimental::coro<void, std::vector<token>> decode(sequence& seq) {
  std::vector<token> ids;
  co_await seq.async_suspend(net::experimental::use_coro);
  ids.push_back((co_await seq.async_decode({7}, {}, net::experimental::use_coro)).id);
  try {
    co_await seq.async_decode({97}, {}, net::experimental::use_coro);
  } catch (const generation_error& refused) {
    BOOST_TEST(refused.what() == std::string_view("token 97 does not exist; the vocabulary ends at 96"));
    ids.push_back(97);
  }
  co_return ids;
}

BOOST_AUTO_TEST_CASE(a_coro_awaits_operations) {
  toy_engine toy;
  net::io_context context;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 3});
  auto seq = toy.running.open();
  auto reading = read(context.get_executor(), stream);
  auto decoding = decode(seq);
  std::vector<token> read_ids, decoded_ids;
  for (const auto& [coroutine, ids] : {std::pair(&reading, &read_ids), std::pair(&decoding, &decoded_ids)})
    coroutine->async_resume([ids](std::exception_ptr error, std::vector<token> result) {
      BOOST_TEST(!error);
      *ids = std::move(result);
    });
  toy.settle(context);
  BOOST_TEST(read_ids == toy_continuation({4, 4}, 3), boost::test_tools::per_element());
  BOOST_TEST(decoded_ids == (std::vector<token>{toy_next(std::vector<token>{7}), 97}),
             boost::test_tools::per_element());
}

#if BOOST_ASIO_VERSION >= 103100
BOOST_AUTO_TEST_CASE(a_time_limit_loses_no_piece) {
  toy_engine toy;
  toy.control->hold = true;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 3});
  drive(toy.running, [&]() -> net::awaitable<void> {
    const auto [code, none] =
        co_await stream.async_next(net::cancel_after(std::chrono::nanoseconds(0), net::as_tuple(net::use_awaitable)));
    BOOST_TEST((code == net::error::operation_aborted));
    toy.control->hold = false;
    toy.control->release();
    BOOST_TEST(ids_of((co_await stream.async_complete()).tokens) == toy_continuation({4, 4}, 3),
               boost::test_tools::per_element());
  });
}
#endif

/// Checks that a call throws the sentence for a missing session.
template <class Call>
void throws_sentence(Call call) {
  BOOST_CHECK_EXCEPTION(call(), generation_error, [](const generation_error& e) { return e.what() == missing; });
}

/// Checks that `co_await` throws it.
net::awaitable<void> throws_sentence(net::awaitable<sequence> opening) {
  std::optional<generation_error> thrown;
  try {
    std::ignore = co_await std::move(opening);
  } catch (const generation_error& error) {
    thrown = error;
  }
  BOOST_TEST_REQUIRE(thrown.has_value());
  BOOST_TEST(thrown->what() == missing);
}

BOOST_AUTO_TEST_CASE(tokens_that_throw_keep_the_sentence) {
  toy_engine toy;
  const std::filesystem::path path = "/nonexistent/a.session";
  auto future = toy.running.async_load_session(path, {}, net::use_future);
  auto on_executor =
      toy.running.async_load_session(path, {}, net::bind_executor(toy.running.get_executor(), net::use_future));
  for (int i = 0; i < 3; ++i) toy.running.poll_one();
  throws_sentence([&] { std::ignore = future.get(); });
  throws_sentence([&] { std::ignore = on_executor.get(); });
  drive(toy.running, [&]() -> net::awaitable<void> {
    co_await throws_sentence(toy.running.async_load_session(path, {}, net::use_awaitable));
#if BOOST_ASIO_VERSION >= 103100
    co_await throws_sentence(
        toy.running.async_load_session(path, {}, net::cancel_after(std::chrono::hours(1), net::use_awaitable)));
    co_await throws_sentence(toy.running.async_load_session(
        path, {}, net::cancel_at(std::chrono::steady_clock::time_point::max(), net::use_awaitable)));
#endif
  });
}

BOOST_AUTO_TEST_CASE(diagnostics_are_redirected) {
  toy_engine toy;
  const std::filesystem::path path = "/nonexistent/a.session";
  net::io_context context;
  diagnostics in_handler, in_future, in_coroutine, of_timer;
  bool called = false;
  toy.running.async_load_session(path, {},
                                 redirect_diagnostics(net::bind_executor(context,
                                                                         [&](const sequence&) {
                                                                           called = true;
                                                                           BOOST_TEST(in_handler.message() == missing);
                                                                         }),
                                                      in_handler));
  std::future<sequence> future =
      toy.running.async_load_session(path, {}, redirect_diagnostics(net::use_future, in_future));
  drive(toy.running, [&]() -> net::awaitable<void> {
    std::ignore =
        co_await toy.running.async_load_session(path, {}, redirect_diagnostics(net::use_awaitable, in_coroutine));
    BOOST_TEST(in_coroutine.message() == missing);
    auto seq = toy.running.open();
    co_await seq.async_forward({1}, logits_of::last, redirect_diagnostics(net::deferred, in_coroutine));
    BOOST_TEST(!in_coroutine);
    net::steady_timer timer(co_await net::this_coro::executor, std::chrono::nanoseconds(0));
    co_await timer.async_wait(redirect_diagnostics(net::use_awaitable, of_timer));
    BOOST_TEST(!of_timer);
  });
  std::ignore = future.get();
  BOOST_TEST(in_future.message() == missing);
  context.run();
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
