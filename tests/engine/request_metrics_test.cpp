// When what happened to a stream or a sequence, exact to the tick.
#include "recorder.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;
using milliseconds = std::chrono::milliseconds;

/// Every step takes 5 ms.
struct timed {
  explicit timed(toy_setup setup = {}) : toy(setup) {
    toy.control->on_step = [this](const scheduler::step&) { toy.time->advance(5ms); };
  }

  token_stream ask(int tokens, int wanted, int max_buffered_tokens = 16) {
    return toy.running.generate({.prompt = token_ids(static_cast<std::size_t>(tokens), 5),
                                 .max_tokens = wanted,
                                 .max_buffered_tokens = max_buffered_tokens});
  }

  void step_after(milliseconds pause) {
    toy.time->advance(pause);
    toy.running.poll_one();
  }

  toy_engine toy;
};

milliseconds since_start(std::optional<clock::time_point> time) {
  return std::chrono::duration_cast<milliseconds>(time.value().time_since_epoch());
}

void check(clock::duration received, milliseconds expected) {
  BOOST_TEST(std::chrono::duration_cast<milliseconds>(received).count() == expected.count());
}

void check(std::optional<clock::time_point> received, milliseconds expected) {
  BOOST_TEST(since_start(received).count() == expected.count());
}

void check_whole(const request_metrics& times, clock::time_point until) {
  BOOST_CHECK(times.waiting + times.running + times.preempted == until - times.accepted.value());
}

BOOST_AUTO_TEST_SUITE(request_metrics_of_all)

BOOST_AUTO_TEST_CASE(a_stream_knows_when_what_happened_to_it) {
  timed run;
  auto stream = run.ask(11, 3);
  run.step_after(3ms);  // 3 to 8: eight tokens of the prompt
  run.step_after(2ms);  // 10 to 15: the others, and the first token
  run.step_after(1ms);  // 16 to 21
  run.step_after(4ms);  // 25 to 30
  const auto times = stream.request_metrics();
  check(times.opened, 0ms);
  check(times.accepted, 3ms);
  check(times.scheduled, 3ms);
  check(times.first_token, 15ms);
  check(times.last_token, 30ms);
  check(times.ended, 30ms);
  check(times.waiting, 0ms);
  check(times.running, 27ms);
  check(times.computing, 20ms);
  check(times.preempted, 0ms);
  BOOST_TEST(times.steps == 4);
  BOOST_TEST(times.prefill_steps == 2);
  BOOST_TEST(times.preemptions == 0);
  check_whole(times, *times.ended);
  check(stream.usage().time_to_first_token, 15ms);
  check(stream.usage().total_time, 30ms);
}

BOOST_AUTO_TEST_CASE(who_waits_sees_the_time_pass) {
  timed run({.slots = 1});
  auto first = run.ask(2, 2);
  auto second = run.ask(2, 1);
  run.step_after(0ms);
  run.toy.time->advance(7ms);
  check(second.request_metrics().waiting, 12ms);
  BOOST_TEST(!second.request_metrics().scheduled);
  run.step_after(0ms);  // 12 to 17: the last token of the first one
  run.step_after(3ms);  // 20 to 25
  const auto times = second.request_metrics();
  check(times.scheduled, 20ms);
  check(times.waiting, 20ms);
  check(times.running, 5ms);
  check(times.first_token, 25ms);
  check(times.ended, 25ms);
  BOOST_TEST(times.steps == 1);
}

BOOST_AUTO_TEST_CASE(a_slow_reader_runs_without_computing_and_is_preempted_for_another_one) {
  timed run({.slots = 1, .idle_timeout = 10ms});
  auto slow = run.ask(3, 2, 1);
  run.step_after(0ms);   // 0 to 5: its first token, unread
  run.step_after(20ms);  // 25: nothing to do; its rest begins
  check(slow.request_metrics().running, 25ms);
  check(slow.request_metrics().computing, 5ms);
  auto other = run.ask(2, 1);
  run.step_after(1ms);  // 26: the other one is accepted
  run.step_after(8ms);  // 34: idle timeout is not over yet
  BOOST_TEST(slow.request_metrics().preemptions == 0);
  run.step_after(1ms);  // 35 to 40: the other one
  BOOST_TEST(other.ended());
  check(other.request_metrics().waiting, 9ms);
  check(slow.request_metrics().preempted, 5ms);
  net::io_context context;
  slow.async_next(net::bind_executor(context, [](error_code, std::optional<piece>) {}));
  context.poll();  // it is read now
  run.toy.time->advance(4ms);
  run.toy.settle(context);  // 44 to 49: its prompt and its first token again, and the second one
  const auto times = slow.request_metrics();
  check(times.first_token, 5ms);
  check(times.last_token, 49ms);
  check(times.running, 40ms);
  check(times.preempted, 9ms);
  check(times.computing, 10ms);
  BOOST_TEST(times.preemptions == 1);
  BOOST_TEST(times.prefill_steps == 2);
  check_whole(times, *times.ended);
}

BOOST_AUTO_TEST_CASE(who_was_never_accepted_has_no_more_than_its_begin_and_end) {
  timed run;
  run.toy.time->advance(2ms);
  auto wrong = run.ask(0, 1);
  run.step_after(5ms);
  const auto times = wrong.request_metrics();
  check(times.opened, 2ms);
  check(times.ended, 2ms);
  BOOST_TEST(!times.accepted);
  BOOST_TEST(!times.scheduled);
  BOOST_TEST(!times.first_token);
  check(times.waiting, 0ms);
  BOOST_TEST(times.steps == 0);
}

BOOST_AUTO_TEST_CASE(an_end_token_that_comes_first_is_no_first_token) {
  timed run({.end_tokens = {toy_next(std::vector<token>{5, 5})}});
  auto stream = run.ask(2, 9);
  run.step_after(0ms);
  BOOST_TEST(!stream.request_metrics().first_token);
  check(stream.request_metrics().ended, 5ms);
  check(stream.usage().time_to_first_token, 0ms);
}

BOOST_AUTO_TEST_CASE(a_sequence_is_accepted_when_it_first_runs) {
  timed run;
  auto sequence = run.toy.running.open();
  run.toy.time->advance(7ms);
  drive(run.toy.running, [&]() -> net::awaitable<void> {
    co_await sequence.async_forward({1, 2});  // 7 to 12
    run.toy.time->advance(3ms);               // its owner thinks
    co_await sequence.async_decode();         // 15 to 20
  });
  const auto times = sequence.request_metrics();
  check(times.opened, 0ms);
  check(times.accepted, 7ms);
  check(times.first_token, 12ms);
  check(times.last_token, 20ms);
  check(times.running, 13ms);
  check(times.computing, 10ms);
  BOOST_TEST(times.steps == 2);
  BOOST_TEST(times.prefill_steps == 1);
  BOOST_TEST(!times.ended);
}

BOOST_AUTO_TEST_CASE(a_timeline_stays_as_it_was_when_the_engine_has_ended) {
  std::optional<timed> run(std::in_place);
  auto stream = run->ask(2, 30);
  run->step_after(0ms);
  run->toy.time->advance(2ms);
  const auto time = run->toy.time;
  run.reset();
  time->advance(50ms);
  check(stream.request_metrics().ended, 7ms);
  check(stream.request_metrics().running, 7ms);
  BOOST_TEST(stream.request_metrics().steps == 1);
}

BOOST_AUTO_TEST_CASE(events_carry_the_timeline_so_far) {
  const auto sink = std::make_shared<recorder>();
  toy_engine toy({}, {.external_stepping = true, .events = sink});
  toy.control->on_step = [&](const scheduler::step&) { toy.time->advance(5ms); };
  auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 2});
  toy.running.poll_one();
  toy.time->advance(1ms);
  toy.running.poll_one();
  for (const auto& each : sink->events) {
    if (each.type == sequence_event::kind::scheduled) check(each.request_metrics.running, 0ms);
    if (each.type == sequence_event::kind::first_token) check(each.request_metrics.running, 5ms);
    if (each.type == sequence_event::kind::finished) check(each.request_metrics.running, 11ms);
  }
  BOOST_REQUIRE(sink->steps.size() == 2u);
  check(sink->steps[1].begin, 6ms);
  check(sink->steps[1].end, 11ms);
}

BOOST_AUTO_TEST_CASE(timelines_and_counts_may_be_asked_for_on_any_thread) {
  const auto sink = std::make_shared<recorder>();
  toy_engine toy({.max_sequence_length = 512}, {.events = sink});
  auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 400, .max_buffered_tokens = 400});
  while (!stream.ended()) {
    const auto times = stream.request_metrics();
    if (times.first_token)
      BOOST_TEST_REQUIRE((*times.first_token <= *times.last_token && *times.scheduled <= *times.first_token));
    BOOST_TEST_REQUIRE(toy.running.stats().scheduled <= 1);
  }
  BOOST_TEST(stream.request_metrics().steps == 400);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
