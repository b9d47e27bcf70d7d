// Limits of time: no token yet, or not yet over, at every stage of a generation's life.
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(time_limits)

/// What a generation has come to, read by a `complete()` begun with it.
struct reading {
  reading(toy_engine& toy, request wanted) : stream(toy.running.generate(std::move(wanted))) {
    stream.async_complete(net::bind_executor(context, [this](error_code code, completion result) {
      received = code;
      answer = std::move(result);
    }));
  }

  bool over() {
    context.restart();
    context.poll();
    return received.has_value();
  }

  net::io_context context;
  token_stream stream;
  std::optional<error_code> received;
  completion answer;
};

bool says(const diagnostics& received, std::string_view words) {
  return received.message().find(words) != std::string::npos;
}

void check_late(reading& late, std::initializer_list<std::string_view> words) {
  BOOST_REQUIRE(late.over());
  BOOST_CHECK_EQUAL(*late.received, make_error_code(error::deadline_exceeded));
  BOOST_CHECK(late.stream.finish() == finish_reason::failed);
  for (const auto word : words) BOOST_TEST(says(late.stream.error(), word), late.stream.error().message());
}

void check_out_of_time(reading& over, const std::vector<token>& tokens) {
  BOOST_REQUIRE(over.over());
  BOOST_TEST(!over.received->failed());
  BOOST_CHECK(over.answer.reason == finish_reason::deadline_exceeded);
  BOOST_TEST(!over.stream.error());
  BOOST_TEST(ids_of(over.answer.tokens) == tokens, boost::test_tools::per_element());
}

void rounds(toy_engine& toy, int count) {
  for (int i = 0; i < count; ++i) toy.running.poll_one();
}

/// Fills every slot with unread generations.
std::vector<token_stream> fill(toy_engine& toy, int slots) {
  std::vector<token_stream> busy;
  for (int i = 0; i < slots; ++i)
    busy.push_back(toy.running.generate({.prompt = token_ids{i}, .max_buffered_tokens = 1}));
  rounds(toy, 3);
  return busy;
}

BOOST_AUTO_TEST_CASE(one_that_waits_for_a_slot_fails_exactly_then) {
  toy_engine toy({.slots = 2});
  const auto busy = fill(toy, 2);
  reading late(toy, request{.prompt = token_ids{7}, .start_within = 2s});
  rounds(toy, 2);
  toy.time->advance(2s - 1ns);
  rounds(toy, 2);
  BOOST_TEST(!late.over());
  toy.time->advance(1ns);
  rounds(toy, 1);
  check_late(late, {"start_within", "2 s", "one of 2 slots"});
  BOOST_TEST(toy.running.stats().sequences == 2);
  BOOST_TEST(toy.running.stats().waiting == 0);
}

BOOST_AUTO_TEST_CASE(one_that_has_begun_in_time_goes_on) {
  toy_engine toy;
  reading whole(toy, request{.prompt = token_ids{7}, .max_tokens = 6, .start_within = 2s});
  rounds(toy, 1);
  toy.time->advance(1h);
  toy.settle(whole.context);
  BOOST_REQUIRE(whole.over());
  BOOST_TEST(ids_of(whole.answer.tokens) == toy_continuation({7}, 6), boost::test_tools::per_element());
  BOOST_CHECK(whole.answer.reason == finish_reason::length);
}

BOOST_AUTO_TEST_CASE(one_whose_prompt_takes_too_long_fails) {
  toy_engine toy({.max_batched_tokens = 4});
  reading late(toy, request{.prompt = token_ids(40, 3), .start_within = 10ms});
  rounds(toy, 3);
  toy.time->advance(25ms);
  rounds(toy, 1);
  check_late(late, {"0.01 s", "0.025 s", "its prompt of 40 tokens to be read"});
  BOOST_TEST(toy.control->tokens == 12);
  BOOST_TEST(toy.running.stats().free_slots == 4);
}

BOOST_AUTO_TEST_CASE(one_that_was_never_taken_up_fails) {
  toy_engine toy;
  reading late(toy, request{.prompt = token_ids{7}, .start_within = 1s});
  toy.time->advance(3s);
  rounds(toy, 1);
  check_late(late, {"3 s", "for the engine to take it up"});
  BOOST_TEST(toy.control->tokens == 0);
}

BOOST_AUTO_TEST_CASE(a_reader_that_never_asks_is_named) {
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{7}, .start_within = 1s, .max_buffered_tokens = 0});
  rounds(toy, 2);
  toy.time->advance(1s);
  rounds(toy, 1);
  BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::deadline_exceeded));
  BOOST_TEST(says(stream.error(), "its reader to ask"));
}

BOOST_AUTO_TEST_CASE(a_token_that_comes_out_of_a_step_too_late_does_not_count) {
  toy_engine toy;
  toy.control->on_step = [&](const scheduler::step&) { toy.time->advance(1s); };
  reading late(toy, request{.prompt = token_ids{7}, .start_within = 1s});
  reading over(toy, request{.prompt = token_ids{8}, .finish_within = 1s});
  reading whole(toy, request{.prompt = token_ids{9}, .max_tokens = 1, .start_within = 1s + 1ns});
  rounds(toy, 1);
  check_late(late, {"its prompt of 1 tokens"});
  check_out_of_time(over, {});
  BOOST_REQUIRE(whole.over());
  BOOST_TEST(whole.answer.tokens.size() == 1u);
}

BOOST_AUTO_TEST_CASE(finish_within_keeps_what_there_is) {
  toy_engine toy;
  reading over(toy, request{.prompt = token_ids{7}, .finish_within = 5s});
  rounds(toy, 4);
  toy.time->advance(5s - 1ns);
  rounds(toy, 1);
  BOOST_TEST(!over.over());
  toy.time->advance(1ns);
  rounds(toy, 1);
  check_out_of_time(over, toy_continuation({7}, 5));
  BOOST_TEST(over.answer.usage.generated_tokens == 5);
  BOOST_CHECK(over.answer.usage.total_time == 5s);
  BOOST_TEST(toy.running.stats().free_slots == 4);
}

BOOST_AUTO_TEST_CASE(unread_pieces_stay_readable) {
  net::io_context context;
  toy_engine toy;
  auto slow = toy.running.generate({.prompt = token_ids{7}, .finish_within = 5s, .max_buffered_tokens = 3});
  toy.settle(context);
  toy.time->advance(5s);
  rounds(toy, 1);
  BOOST_TEST(slow.ended());
  BOOST_CHECK(slow.finish() == finish_reason::deadline_exceeded);
  std::vector<token> read;
  bool at_end = false;
  std::function<void()> next = [&] {
    slow.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece> piece) {
      BOOST_TEST(!code.failed());
      if (!piece) return void(at_end = true);
      read.push_back(piece->tokens.front().id);
      next();
    }));
  };
  next();
  context.restart();
  context.poll();
  BOOST_TEST(at_end);
  BOOST_TEST(read == toy_continuation({7}, 3), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_reader_that_was_preempted_runs_out_of_time_too) {
  net::io_context context;
  toy_engine toy({.slots = 1, .idle_timeout = 10ms});
  auto slow = toy.running.generate({.prompt = token_ids{7}, .finish_within = 5s, .max_buffered_tokens = 2});
  toy.settle(context);
  reading next(toy, request{.prompt = token_ids{8}, .max_tokens = 3});
  toy.settle(context);
  toy.time->advance(10ms);
  toy.settle(context);
  BOOST_TEST(next.over());
  BOOST_TEST(toy.running.stats().preempted == 1u);
  toy.time->advance(5s);
  rounds(toy, 1);
  BOOST_CHECK(slow.finish() == finish_reason::deadline_exceeded);
  BOOST_TEST(slow.usage().generated_tokens == 2);
  BOOST_TEST(toy.running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(with_nothing_generated_it_ends_without_an_error) {
  toy_engine toy({.slots = 2});
  const auto busy = fill(toy, 2);
  reading over(toy, request{.prompt = token_ids{7}, .finish_within = 1s});
  rounds(toy, 1);
  toy.time->advance(1s);
  rounds(toy, 1);
  check_out_of_time(over, {});
  BOOST_TEST(over.answer.usage.generated_tokens == 0);
}

BOOST_AUTO_TEST_CASE(of_two_limits_the_shorter_one_decides_however_far_the_clock_jumps) {
  toy_engine toy({.slots = 2});
  const auto busy = fill(toy, 2);
  reading late(toy, request{.prompt = token_ids{7}, .start_within = 1s, .finish_within = 2s});
  reading over(toy, request{.prompt = token_ids{7}, .start_within = 2s, .finish_within = 1s});
  reading both(toy, request{.prompt = token_ids{7}, .start_within = 1s, .finish_within = 1s});
  rounds(toy, 1);
  toy.time->advance(24h);
  rounds(toy, 1);
  check_late(late, {"86400 s"});
  check_out_of_time(over, {});
  check_late(both, {});
}

BOOST_AUTO_TEST_CASE(a_wait_with_its_own_limit_is_reported_apart) {
  net::io_context context;
  toy_engine toy({.slots = 2});
  const auto busy = fill(toy, 2);
  auto stream = toy.running.generate({.prompt = token_ids{7}, .start_within = 3s});
  std::vector<error_code> received;
  const auto wait = [&](clock::duration limit) {
    stream.async_next_for(limit, net::bind_executor(context, [&](error_code code, auto) { received.push_back(code); }));
    toy.settle(context);
  };
  wait(1s);
  toy.time->advance(1s);
  toy.settle(context);
  wait(5s);
  toy.time->advance(2s);
  toy.settle(context);
  BOOST_REQUIRE(received.size() == 2u);
  BOOST_CHECK_EQUAL(received[0], make_error_code(error::timed_out));
  BOOST_CHECK_EQUAL(received[1], make_error_code(error::deadline_exceeded));
}

BOOST_AUTO_TEST_CASE(limits_beyond_the_clock_never_come) {
  net::io_context context;
  toy_engine toy;
  toy.time->advance(1h);
  reading whole(toy, request{.prompt = token_ids{7},
                             .max_tokens = 3,
                             .start_within = clock::duration::max(),
                             .finish_within = clock::duration::max()});
  auto waiting = toy.running.generate({.prompt = token_ids{8}, .max_buffered_tokens = 0});
  std::optional<error_code> received;
  waiting.async_next_for(clock::duration::max(),
                         net::bind_executor(context, [&](error_code code, auto) { received = code; }));
  toy.settle(context);
  BOOST_REQUIRE(received);
  BOOST_TEST(!received->failed());
  BOOST_REQUIRE(whole.over());
  BOOST_TEST(whole.answer.tokens.size() == 3u);
}

BOOST_AUTO_TEST_CASE(bad_limits_are_refused_at_once_in_words) {
  toy_engine toy;
  for (const auto bad : {clock::duration(0), clock::duration(-5), clock::duration::min()}) {
    const auto start = toy.running.generate({.prompt = token_ids{1}, .start_within = bad});
    const auto finish = toy.running.generate({.prompt = token_ids{1}, .finish_within = bad});
    for (const auto* each : {&start, &finish}) {
      BOOST_CHECK_EQUAL(each->error().code(), make_error_code(error::invalid_request));
      BOOST_TEST(says(each->error(), std::to_string(bad.count()) + " ns; it must be more than 0"));
    }
    BOOST_TEST(says(start.error(), "start_within"));
    BOOST_TEST(says(finish.error(), "finish_within"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
