#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <tuple>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(ends)

BOOST_AUTO_TEST_CASE(destroying_the_engine_completes_every_pending_operation) {
  net::io_context context;
  auto toy = std::make_optional<toy_engine>();
  toy->control->hold = true;
  auto stream = toy->running.generate({.prompt = token_ids{1}});
  auto whole = toy->running.generate({.prompt = token_ids{2}});
  auto sequence = toy->running.open();
  std::vector<error_code> received;
  stream.async_next(
      net::bind_executor(context, [&](error_code code, std::optional<piece>) { received.push_back(code); }));
  whole.async_complete(net::bind_executor(context, [&](error_code code, completion) { received.push_back(code); }));
  sequence.async_forward({1, 2}, logits_of::last,
                         net::bind_executor(context, [&](error_code code, logits) { received.push_back(code); }));
  for (int i = 0; i < 3; ++i) toy->running.poll_one();
  toy.reset();
  context.poll();
  BOOST_TEST(received.size() == 3u);
  for (const auto& each : received) BOOST_CHECK_EQUAL(each, make_error_code(error::engine_stopped));
}

BOOST_AUTO_TEST_CASE(handles_outlive_the_engine_and_say_that_it_stopped) {
  net::io_context context;
  auto toy = std::make_optional<toy_engine>();
  auto stream = toy->running.generate({.prompt = token_ids{1}, .max_buffered_tokens = 3});
  auto untouched = toy->running.open();
  toy->settle(context);
  toy.reset();
  std::vector<token> read;
  error_code received, refused;
  std::function<void()> next = [&] {
    stream.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece> piece) {
      received = code;
      if (!piece) return;
      read.push_back(piece->tokens.front().id);
      next();
    }));
  };
  next();
  untouched.async_forward({1}, logits_of::last,
                          net::bind_executor(context, [&](error_code code, logits) { refused = code; }));
  context.restart();
  context.poll();
  BOOST_TEST(read == toy_continuation({1}, 3), boost::test_tools::per_element());  // what was produced is not lost
  BOOST_CHECK_EQUAL(received, make_error_code(error::engine_stopped));
  BOOST_CHECK_EQUAL(refused, make_error_code(error::engine_stopped));
}

BOOST_AUTO_TEST_CASE(a_stopped_engine_still_says_what_is_wrong_with_an_encoder_input) {
  net::io_context context;
  toy_engine toy({.max_encoder_input = 4});
  toy.running.stop();
  BOOST_CHECK_THROW(std::ignore = toy.running.open({toy_vocabulary}, {}), std::invalid_argument);
  auto sequence = toy.running.open({1, 2}, {});
  auto stream = toy.running.generate({.encoder_input = std::vector<token>{1, 2}});
  std::vector<error_code> received;
  sequence.async_forward({1}, logits_of::last,
                         net::bind_executor(context, [&](error_code code, logits) { received.push_back(code); }));
  stream.async_next(
      net::bind_executor(context, [&](error_code code, std::optional<piece>) { received.push_back(code); }));
  context.poll();
  BOOST_TEST(received.size() == 2u);
  for (const auto& each : received) BOOST_CHECK_EQUAL(each, make_error_code(error::engine_stopped));
}

BOOST_AUTO_TEST_CASE(handlers_without_an_executor_are_called_after_the_engine_too) {
  auto toy = std::make_optional<toy_engine>();
  auto stream = toy->running.generate({.prompt = token_ids{1}});
  toy.reset();
  std::promise<error_code> received;
  stream.async_complete([&](error_code code, completion) { received.set_value(code); });
  BOOST_CHECK_EQUAL(received.get_future().get(), make_error_code(error::engine_stopped));
}

BOOST_AUTO_TEST_CASE(a_context_that_ends_first_takes_its_waits_with_it) {
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{1}, .max_tokens = 4, .max_buffered_tokens = 0});
  {
    net::io_context context;
    stream.async_next(net::bind_executor(context, [](error_code, std::optional<piece>) { BOOST_ERROR("called"); }));
  }
  for (int i = 0; i < 4; ++i) toy.running.poll_one();
  net::io_context other;
  std::optional<completion> whole;
  stream.async_complete(net::bind_executor(other, [&](error_code, completion result) { whole = std::move(result); }));
  toy.settle(other);
  BOOST_REQUIRE(whole);
  BOOST_TEST(ids_of(whole->tokens) == toy_continuation({1}, 4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_owns_its_stream_is_freed_with_its_context) {
  toy_engine toy;
  auto alive = std::make_shared<int>(1);
  {
    net::io_context context;
    net::co_spawn(
        context,
        [](toy_engine& engine, std::shared_ptr<int>) -> net::awaitable<void> {
          auto stream = engine.running.generate({.prompt = token_ids{1}, .max_buffered_tokens = 0});
          for (;;) co_await stream.async_next();
        }(toy, alive),
        net::detached);
    context.poll();
    toy.running.poll_one();
    BOOST_TEST(alive.use_count() == 2);
  }
  BOOST_TEST(alive.use_count() == 1);
  for (int i = 0; i < 3; ++i) toy.running.poll_one();
  BOOST_TEST(toy.running.stats().free_slots == 4);
}

BOOST_AUTO_TEST_CASE(coroutines_on_the_engines_executor_are_freed_with_the_engine) {
  auto alive = std::make_shared<int>(1);
  std::optional<error_code> received;
  {
    toy_engine toy;
    toy.control->hold = true;
    net::co_spawn(
        toy.running.get_executor(),
        [](toy_engine& engine, std::shared_ptr<int>, std::optional<error_code>& code) -> net::awaitable<void> {
          auto stream = engine.running.generate({.prompt = token_ids{1}});
          try {
            co_await stream.async_next();
          } catch (const boost::system::system_error& e) {
            code = e.code();
          }
          auto second = engine.running.generate({.prompt = token_ids{1}});
          co_await second.async_next();
        }(toy, alive, received),
        net::detached);
    for (int i = 0; i < 3; ++i) toy.running.poll_one();
    BOOST_TEST(alive.use_count() == 2);
  }
  BOOST_REQUIRE(received);
  BOOST_CHECK_EQUAL(*received, make_error_code(error::engine_stopped));
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(an_executor_kept_after_the_engine_discards_its_work) {
  std::optional<engine::executor_type> kept;
  {
    toy_engine toy;
    kept = toy.running.get_executor();
  }
  auto alive = std::make_shared<int>(1);
  net::post(*kept, [alive] { BOOST_ERROR("called"); });
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(an_engine_may_be_destroyed_inside_a_handler_on_its_own_thread) {
  auto toy = std::make_unique<toy_engine>(toy_setup(), engine_options());
  std::promise<void> gone;
  net::post(toy->running.get_executor(), [&] {
    toy.reset();
    gone.set_value();
  });
  gone.get_future().get();
  BOOST_TEST(!toy);
}

BOOST_AUTO_TEST_CASE(futures_and_callbacks_serve_where_there_are_no_coroutines) {
  toy_engine toy({}, {});
  auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 12});
  const auto whole = stream.async_complete(net::use_future).get();
  BOOST_TEST(ids_of(whole.tokens) == toy_continuation({1, 2}, 12), boost::test_tools::per_element());
  auto refused = toy.running.generate({.prompt = token_ids{}});
  net::io_context context;
  error_code received;
  refused.async_next(net::bind_executor(context, [&](error_code code, auto) { received = code; }));
  context.run();
  BOOST_CHECK_EQUAL(received, make_error_code(error::invalid_request));
}

BOOST_AUTO_TEST_CASE(an_exception_out_of_a_handler_is_logged_and_the_engine_goes_on) {
  std::promise<std::string> logged;
  toy_engine toy({}, {.log = [&](std::string_view line) { logged.set_value(std::string(line)); }});
  net::post(toy.running.get_executor(), [] { throw std::runtime_error("a handler's own trouble"); });
  BOOST_TEST(logged.get_future().get().find("a handler's own trouble") != std::string::npos);
  auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 3});
  BOOST_TEST(stream.async_complete(net::use_future).get().tokens.size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
