// How much of a stream's prompt has been read, as it tells its client.
#include "toy_runner.hpp"

#include <cogen/decoding/best_of.hpp>
#include <cogen/policy.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <numeric>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(progress_of_prompts)

std::vector<token> numbers(int count) {
  std::vector<token> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 1);
  return tokens;
}

request asked(int tokens, int max_buffered_tokens = 16) {
  return {.prompt = token_ids(numbers(tokens)), .max_tokens = 3, .max_buffered_tokens = max_buffered_tokens};
}

/// Waits for each report of a stream until there is none.
struct watcher {
  watcher(token_stream& watched, net::io_context& runs) : stream(watched), context(runs) { wait(); }

  void wait() {
    stream.async_prompt_progress(
        net::bind_executor(context, [this](error_code code, std::optional<prompt_progress> next) {
          error = code;
          over = !next;
          if (!next) return;
          reports.push_back(*next);
          wait();
        }));
  }

  std::vector<int> processed() const {
    std::vector<int> result;
    for (const auto& each : reports) result.push_back(each.processed);
    return result;
  }

  token_stream& stream;
  net::io_context& context;
  std::vector<prompt_progress> reports;
  error_code error;
  bool over = false;
};

void check(const watcher& watch, const std::vector<int>& expected) {
  BOOST_TEST(watch.processed() == expected, boost::test_tools::per_element());
  BOOST_TEST(watch.over);
  BOOST_TEST(!watch.error);
}

std::vector<token> read_all(toy_engine& toy, token_stream& stream) {
  std::vector<token> tokens;
  drive(toy.running, [&]() -> net::awaitable<void> {
    while (auto next = co_await stream.async_next())
      for (const auto& each : next->tokens) tokens.push_back(each.id);
  });
  return tokens;
}

BOOST_AUTO_TEST_CASE(each_step_that_reads_a_prompt_is_reported_and_then_it_is_over) {
  for (const int chunk : {1, 3, 4, 13, 64}) {
    net::io_context context;
    toy_engine toy({.max_batched_tokens = chunk});
    auto stream = toy.running.generate(asked(13));
    const watcher watch(stream, context);
    toy.settle(context);
    std::vector<int> expected{0};
    while (expected.back() < 13) expected.push_back(std::min(13, expected.back() + chunk));
    check(watch, expected);
    for (const auto& each : watch.reports) BOOST_TEST((each.total == 13 && each.cached == 0));
    BOOST_TEST(read_all(toy, stream) == toy_continuation(numbers(13), 3), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_time_is_that_since_its_first_step_began) {
  net::io_context context;
  toy_engine toy({.slots = 1});
  toy.control->on_step = [&](const scheduler::step&) { toy.time->advance(5ms); };
  auto earlier = toy.running.generate(asked(2));
  auto stream = toy.running.generate(asked(20));
  const watcher watch(stream, context);
  toy.settle(context);
  check(watch, {0, 8, 16, 20});
  for (std::size_t i = 0; i < watch.reports.size(); ++i) BOOST_CHECK(watch.reports[i].time == i * 5ms);
}

BOOST_AUTO_TEST_CASE(what_was_cached_is_done_from_the_beginning) {
  net::io_context context;
  toy_engine toy({.spare_slots = 4});
  auto first = toy.running.generate(asked(20));
  toy.settle(context);
  auto again = toy.running.generate(asked(20)), longer = toy.running.generate(asked(34));
  const watcher same(again, context), more(longer, context);
  toy.settle(context);
  check(same, {19, 20});
  BOOST_TEST(same.reports.front().cached == 19);
  BOOST_TEST(more.reports.front().cached == longer.usage().cached_tokens);
  BOOST_TEST(more.reports.front().processed == longer.usage().cached_tokens);
  BOOST_TEST(longer.usage().cached_tokens >= 19);
  BOOST_TEST((more.over && more.reports.back().processed == 34));
}

BOOST_AUTO_TEST_CASE(what_nobody_waited_for_is_reported_as_one) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate(asked(30));
  toy.running.poll_one();
  toy.running.poll_one();
  const watcher late(stream, context);
  toy.settle(context);
  check(late, {16, 24, 30});
  const watcher again(stream, context);
  toy.settle(context);
  check(again, {});
  auto unseen = toy.running.generate(asked(30));
  toy.settle(context);
  BOOST_TEST(unseen.ended());
  const watcher afterwards(unseen, context);
  toy.settle(context);
  check(afterwards, {30});
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_loses_nothing) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate(asked(12));
  net::cancellation_signal signal;
  error_code received;
  stream.async_prompt_progress(net::bind_cancellation_slot(
      signal.slot(),
      net::bind_executor(context, [&](error_code code, std::optional<prompt_progress>) { received = code; })));
  signal.emit(net::cancellation_type::total);
  context.poll();
  BOOST_CHECK_EQUAL(received, make_error_code(net::error::operation_aborted));
  const watcher watch(stream, context);
  toy.settle(context);
  check(watch, {0, 8, 12});
}

BOOST_AUTO_TEST_CASE(one_wait_at_a_time_beside_one_for_a_piece) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate(asked(12));
  const watcher watch(stream, context);
  error_code second, next;
  stream.async_prompt_progress(
      net::bind_executor(context, [&](error_code code, std::optional<prompt_progress>) { second = code; }));
  std::optional<piece> first;
  stream.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece> piece) {
    next = code;
    first = std::move(piece);
  }));
  toy.settle(context);
  BOOST_CHECK_EQUAL(second, make_error_code(error::operation_in_progress));
  BOOST_TEST((!next && first));
  check(watch, {0, 8, 12});
}

BOOST_AUTO_TEST_CASE(a_stream_without_buffered_tokens_reads_its_prompt_for_who_waits) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate(asked(12, 0));
  toy.settle(context);
  BOOST_TEST(toy.control->tokens == 0);
  const watcher watch(stream, context);
  toy.settle(context);
  check(watch, {0, 8, 12});
  BOOST_TEST(stream.usage().generated_tokens == 1);
  BOOST_TEST(read_all(toy, stream) == toy_continuation(numbers(12), 3), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_prompt_that_is_recomputed_after_preemption_never_goes_back) {
  net::io_context context;
  toy_engine toy({.slots = 1, .scheduling_policy = [] { return scheduler::by_priority(); }});
  auto stream = toy.running.generate(asked(40));
  const watcher watch(stream, context);
  for (int i = 0; i < 3; ++i) toy.running.poll_one(), context.restart(), context.poll();
  auto urgent = asked(4);
  urgent.priority = 9;
  auto other = toy.running.generate(urgent);
  toy.settle(context);
  BOOST_TEST(stream.request_metrics().preemptions == 1);
  BOOST_TEST(stream.request_metrics().prefill_steps == 3 + 5);
  check(watch, {0, 8, 16, 24, 32, 40});
}

BOOST_AUTO_TEST_CASE(of_several_streams_each_reports_what_it_shares_as_cached) {
  net::io_context context;
  toy_engine toy({.spare_slots = 4});
  auto streams = toy.running.generate_n(asked(20), 2);
  const watcher first(streams[0], context), second(streams[1], context);
  toy.settle(context);
  check(first, {0, 8, 16, 20});
  check(second, {19, 20});
}

BOOST_AUTO_TEST_CASE(a_generation_that_ends_before_its_prompt_was_read_reports_no_more) {
  for (const bool stops : {true, false}) {
    net::io_context context;
    auto toy = std::make_optional<toy_engine>();
    auto stream = toy->running.generate(asked(40));
    const watcher watch(stream, context);
    toy->running.poll_one();
    context.poll();
    if (stops) {
      stream.stop();
      toy->settle(context);
    } else {
      toy.reset();
    }
    context.restart();
    context.poll();
    BOOST_TEST(watch.processed() == (std::vector<int>{0, 8}), boost::test_tools::per_element());
    BOOST_TEST(watch.over);
    BOOST_CHECK_EQUAL(watch.error, stops ? error_code() : make_error_code(error::engine_stopped));
  }
}

BOOST_AUTO_TEST_CASE(a_refused_request_fails_and_a_dropped_one_is_aborted) {
  net::io_context context;
  toy_engine toy;
  auto refused = toy.running.generate(asked(80));
  const watcher wrong(refused, context);
  error_code aborted;
  {
    auto dropped = toy.running.generate(asked(4));
    dropped.async_prompt_progress(
        net::bind_executor(context, [&](error_code code, std::optional<prompt_progress>) { aborted = code; }));
  }
  toy.settle(context);
  BOOST_CHECK_EQUAL(wrong.error, make_error_code(error::does_not_fit));
  BOOST_TEST(wrong.reports.empty());
  BOOST_CHECK_EQUAL(aborted, make_error_code(net::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(a_strategy_has_no_prompt_of_its_own) {
  net::io_context context;
  toy_engine toy;
  auto wanted = asked(12);
  wanted.sampling.temperature = 1;
  auto stream = toy.running.generate(wanted, best_of({.n = 2}));
  const watcher watch(stream, context);
  toy.settle(context);
  check(watch, {});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
