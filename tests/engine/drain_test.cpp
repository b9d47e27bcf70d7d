// Draining: nothing new begins, running work goes on to its end, and then the waits complete.
#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(draining)

/// One wait for the end of all work.
struct drain {
  drain(engine& running, net::io_context& context) {
    running.async_drain(net::bind_cancellation_slot(
        signal.slot(), net::bind_executor(context, [this](error_code code) { received = code; })));
  }
  bool over() const { return received.has_value(); }

  net::cancellation_signal signal;
  std::optional<error_code> received;
};

/// What a `complete()` comes to.
struct gathering {
  gathering(token_stream& stream, net::io_context& context) {
    stream.async_complete(net::bind_executor(context, [this](error_code code, completion result) {
      received = code;
      answer = std::move(result);
    }));
  }
  std::optional<error_code> received;
  completion answer;
};

void check_refused(engine& running) {
  const auto late = running.generate({.prompt = token_ids{1}});
  BOOST_TEST(late.ended());
  BOOST_CHECK_EQUAL(late.error().code(), make_error_code(error::draining));
  BOOST_TEST(late.error().message().find("draining") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_engine_at_rest_has_drained_with_its_next_round) {
  net::io_context context;
  toy_engine toy;
  drain wait(toy.running, context);
  context.poll();
  BOOST_TEST(!wait.over());
  BOOST_TEST(toy.running.stats().draining);
  check_refused(toy.running);
  toy.settle(context);
  BOOST_REQUIRE(wait.over());
  BOOST_TEST(!wait.received->failed());
  BOOST_TEST(!toy.running.error());
  check_refused(toy.running);
}

BOOST_AUTO_TEST_CASE(nothing_happens_before_initiation) {
  toy_engine toy;
  auto later = toy.running.async_drain();
  BOOST_TEST(!toy.running.stats().draining);
  BOOST_TEST(!toy.running.generate({.prompt = token_ids{1}}).ended());
}

BOOST_AUTO_TEST_CASE(what_runs_and_what_waits_goes_on_to_its_end) {
  net::io_context context;
  toy_engine toy({.slots = 2});
  std::vector<token_stream> streams;
  std::vector<std::unique_ptr<gathering>> read;
  for (int i = 0; i < 5; ++i) {
    streams.push_back(toy.running.generate({.prompt = token_ids{i}, .max_tokens = 6}));
    read.push_back(std::make_unique<gathering>(streams.back(), context));
  }
  toy.running.poll_one();
  drain wait(toy.running, context);
  bool ended_early = false;
  while (toy.running.poll_one()) {
    context.restart();
    context.poll();
    ended_early |= wait.over() && !streams.back().ended();
  }
  toy.settle(context);
  BOOST_TEST(!ended_early);
  BOOST_TEST(wait.over());
  for (int i = 0; i < 5; ++i)
    BOOST_TEST(ids_of(read[static_cast<std::size_t>(i)]->answer.tokens) == toy_continuation({i}, 6),
               boost::test_tools::per_element());
  check_refused(toy.running);
}

BOOST_AUTO_TEST_CASE(a_reader_that_stopped_reading_holds_it_up_until_it_reads_or_goes) {
  net::io_context context;
  toy_engine toy;
  auto slow = toy.running.generate({.prompt = token_ids{7}, .max_tokens = 5, .max_buffered_tokens = 2});
  std::optional other(toy.running.generate({.prompt = token_ids{8}, .max_buffered_tokens = 2}));
  drain wait(toy.running, context);
  toy.settle(context);
  BOOST_TEST(!wait.over());
  const gathering rest(slow, context);
  toy.settle(context);
  BOOST_TEST(ids_of(rest.answer.tokens) == toy_continuation({7}, 5), boost::test_tools::per_element());
  BOOST_TEST(!wait.over());
  other.reset();
  toy.settle(context);
  BOOST_TEST(wait.over());
}

BOOST_AUTO_TEST_CASE(a_limit_of_time_ends_what_holds_it_up) {
  net::io_context context;
  toy_engine toy;
  auto slow = toy.running.generate({.prompt = token_ids{7}, .finish_within = 3s, .max_buffered_tokens = 2});
  drain wait(toy.running, context);
  toy.settle(context);
  BOOST_TEST(!wait.over());
  toy.time->advance(3s);
  toy.settle(context);
  BOOST_TEST(wait.over());
  const gathering rest(slow, context);
  toy.settle(context);
  BOOST_TEST(rest.answer.tokens.size() == 2u);
}

BOOST_AUTO_TEST_CASE(sequences_at_rest_do_not_hold_it_up_and_pending_operations_do) {
  net::io_context context;
  toy_engine toy;
  auto idle = toy.running.open();
  auto busy = toy.running.open();
  std::vector<error_code> received;
  const auto decode = [&](sequence& seq, std::vector<token> fed) {
    seq.async_decode(std::move(fed), sampling_params{},
                     net::bind_executor(context, [&](error_code code, sampled_token) { received.push_back(code); }));
  };
  decode(idle, {3});
  toy.settle(context);
  toy.control->hold = true;
  decode(busy, {4});
  toy.running.poll_one();
  drain wait(toy.running, context);
  toy.settle(context);
  BOOST_TEST(!wait.over());
  decode(idle, {});
  context.restart();
  context.poll();
  BOOST_REQUIRE(received.size() == 2u);
  BOOST_CHECK_EQUAL(received[1], make_error_code(error::draining));
  BOOST_TEST(idle.tokens().size() == 2u);
  toy.control->release();
  toy.settle(context);
  BOOST_TEST(wait.over());
  BOOST_REQUIRE(received.size() == 3u);
  BOOST_TEST(!received[2].failed());
}

BOOST_AUTO_TEST_CASE(a_cancelled_operation_holds_it_up_no_more) {
  net::io_context context;
  net::cancellation_signal signal;
  toy_engine toy;
  auto busy = toy.running.open();
  toy.control->hold = true;
  busy.async_forward({1, 2}, logits_of::last,
                     net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [](auto, auto) {})));
  toy.running.poll_one();
  drain wait(toy.running, context);
  toy.settle(context);
  BOOST_TEST(!wait.over());
  signal.emit(net::cancellation_type::partial);
  toy.settle(context);
  BOOST_TEST(wait.over());
  toy.control->release();
  toy.settle(context);
}

BOOST_AUTO_TEST_CASE(cancelling_the_wait_does_not_undo_the_draining) {
  for (const auto type :
       {net::cancellation_type::partial, net::cancellation_type::total, net::cancellation_type::terminal}) {
    net::io_context context;
    toy_engine toy;
    auto stream = toy.running.generate({.prompt = token_ids{7}, .max_tokens = 3});
    drain first(toy.running, context), second(toy.running, context);
    first.signal.emit(type);
    context.poll();
    BOOST_REQUIRE(first.over());
    BOOST_CHECK_EQUAL(*first.received, net::error::operation_aborted);
    BOOST_TEST(!second.over());
    check_refused(toy.running);
    toy.settle(context);
    BOOST_REQUIRE(second.over());
    BOOST_TEST(!second.received->failed());
    drain third(toy.running, context);
    toy.settle(context);
    BOOST_TEST(third.over());
  }
}

BOOST_AUTO_TEST_CASE(an_engine_that_ends_before_tells_those_who_wait) {
  net::io_context context;
  std::optional<drain> stopped, died, late;
  {
    toy_engine toy;
    const auto slow = toy.running.generate({.prompt = token_ids{7}, .max_buffered_tokens = 1});
    stopped.emplace(toy.running, context);
    toy.settle(context);
    toy.running.stop();
    late.emplace(toy.running, context);
  }
  {
    toy_engine toy;
    const auto stream = toy.running.generate({.prompt = token_ids{7}});
    died.emplace(toy.running, context);
    toy.control->on_step = [](const scheduler::step&) { throw std::runtime_error("the bus is on fire"); };
    toy.running.poll_one();
  }
  context.restart();
  context.poll();
  BOOST_REQUIRE(stopped->over());
  BOOST_REQUIRE(late->over());
  BOOST_REQUIRE(died->over());
  BOOST_CHECK_EQUAL(*stopped->received, make_error_code(error::engine_stopped));
  BOOST_CHECK_EQUAL(*late->received, make_error_code(error::engine_stopped));
  BOOST_CHECK_EQUAL(*died->received, make_error_code(error::device_failed));
}

BOOST_AUTO_TEST_CASE(a_stopped_engine_says_that_and_not_that_it_drains) {
  net::io_context context;
  toy_engine toy;
  drain wait(toy.running, context);
  toy.settle(context);
  toy.running.stop();
  BOOST_CHECK_EQUAL(toy.running.generate({.prompt = token_ids{1}}).error().code(),
                    make_error_code(error::engine_stopped));
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_takes_its_wait_along) {
  toy_engine toy;
  auto slow = toy.running.generate({.prompt = token_ids{7}, .max_buffered_tokens = 1});
  {
    net::io_context gone;
    drain wait(toy.running, gone);
  }
  net::io_context context;
  drain wait(toy.running, context);
  slow.stop();
  toy.settle(context);
  BOOST_TEST(wait.over());
}

BOOST_AUTO_TEST_CASE(it_is_awaited_like_everything_else) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto stream = toy.running.generate({.prompt = token_ids{7}, .max_tokens = 4});
    co_await toy.running.async_drain();
    BOOST_TEST(stream.ended());
    const auto answer = co_await stream.async_complete();
    BOOST_TEST(answer.tokens.size() == 4u);
  });
}

BOOST_AUTO_TEST_CASE(an_engine_with_a_thread_drains_while_many_ask) {
  toy_engine toy({}, {});
  std::atomic<int> wrong = 0, whole = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client)
    clients.emplace_back([&, client] {
      for (;;) {
        const std::vector<token> prompt{client};
        auto stream = toy.running.generate({.prompt = token_ids(prompt), .max_tokens = 20});
        net::io_context context;
        error_code received;
        stream.async_complete(net::bind_executor(context, [&](error_code code, completion answer) {
          received = code;
          if (!code && ids_of(answer.tokens) != toy_continuation(prompt, 20)) ++wrong;
        }));
        context.run();
        if (received) return void(wrong += received != make_error_code(error::draining));
        ++whole;
      }
    });
  while (whole < 20) std::this_thread::yield();
  toy.running.async_drain(net::use_future).get();
  for (auto& each : clients) each.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
