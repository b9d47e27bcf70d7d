#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

net::awaitable<void> read_all(token_stream& stream, std::vector<token>& tokens) {
  while (auto piece = co_await stream.async_next())
    for (const auto& each : piece->tokens) tokens.push_back(each.id);
}

BOOST_AUTO_TEST_SUITE(streams)

BOOST_DATA_TEST_CASE(a_stream_is_the_solo_continuation_at_every_buffer_size, data::make({0, 1, 2, 16}),
                     max_buffered_tokens) {
  net::io_context context;
  toy_engine toy;
  std::vector<token_stream> streams;
  std::vector<std::vector<token>> read(6);
  for (int i = 0; i < 6; ++i)
    streams.push_back(toy.running.generate(
        {.prompt = token_ids{i, 3, 5}, .max_tokens = 10 + i, .max_buffered_tokens = max_buffered_tokens}));
  for (std::size_t i = 0; i < 6; ++i) net::co_spawn(context, read_all(streams[i], read[i]), net::detached);
  toy.settle(context);
  for (int i = 0; i < 6; ++i) {
    const auto& stream = streams[static_cast<std::size_t>(i)];
    BOOST_TEST(read[static_cast<std::size_t>(i)] == toy_continuation({i, 3, 5}, 10 + i),
               boost::test_tools::per_element());
    BOOST_TEST(stream.ended());
    BOOST_CHECK(stream.finish() == finish_reason::length);
    BOOST_TEST(stream.usage().prompt_tokens == 3);
    BOOST_TEST(stream.usage().generated_tokens == 10 + i);
  }
  BOOST_TEST(toy.running.stats().sequences == 0);
  BOOST_TEST(toy.running.stats().free_slots == 4);
}

BOOST_AUTO_TEST_CASE(an_end_token_ends_the_stream_and_is_no_part_of_it) {
  net::io_context context;
  const auto expected = toy_continuation({1, 2}, 20);
  toy_engine toy({.end_tokens = {expected[7]}});
  auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 20});
  std::vector<token> read;
  net::co_spawn(context, read_all(stream, read), net::detached);
  toy.settle(context);
  const auto end = std::find(expected.begin(), expected.end(), expected[7]);
  BOOST_TEST(read == std::vector<token>(expected.begin(), end), boost::test_tools::per_element());
  BOOST_CHECK(stream.finish() == finish_reason::eos);
}

BOOST_DATA_TEST_CASE(an_unread_stream_stops_after_its_buffer_size, data::make({0, 1, 5, 16}), max_buffered_tokens) {
  net::io_context context;
  toy_engine toy;
  auto stream =
      toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 40, .max_buffered_tokens = max_buffered_tokens});
  toy.settle(context);
  BOOST_TEST(stream.usage().generated_tokens == max_buffered_tokens);
  std::vector<token> read;
  net::co_spawn(context, read_all(stream, read), net::detached);
  toy.settle(context);
  BOOST_TEST(read == toy_continuation({1, 2}, 40), boost::test_tools::per_element());
}

// Steps until the streams other than the first have ended, with the first one read or not.
std::size_t steps_of_the_others(bool read_first) {
  net::io_context context;
  toy_engine toy;
  std::vector<token_stream> streams;
  std::vector<std::vector<token>> read(4);
  for (int i = 0; i < 4; ++i)
    streams.push_back(toy.running.generate({.prompt = token_ids{i, 9}, .max_tokens = 30, .max_buffered_tokens = 4}));
  for (std::size_t i = read_first ? 0 : 1; i < 4; ++i)
    net::co_spawn(context, read_all(streams[i], read[i]), net::detached);
  while (!streams[1].ended() || !streams[2].ended() || !streams[3].ended()) {
    toy.running.poll_one();
    context.restart();
    context.poll();
  }
  BOOST_TEST(streams[0].ended() == read_first);
  return toy.control->batches.size();
}

BOOST_AUTO_TEST_CASE(a_reader_that_stops_reading_stops_only_itself) {
  BOOST_TEST(steps_of_the_others(false) == steps_of_the_others(true));
}

BOOST_AUTO_TEST_CASE(a_long_prompt_does_not_hold_up_running_streams) {
  net::io_context context;
  toy_engine toy({.slots = 4, .max_sequence_length = 600, .max_batched_tokens = 8});
  auto running = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 100});
  std::vector<token> read, read_late;
  net::co_spawn(context, read_all(running, read), net::detached);
  for (int i = 0; i < 5; ++i) toy.running.poll_one(), context.restart(), context.poll();
  auto late = toy.running.generate({.prompt = token_ids(400, 7), .max_tokens = 4});
  net::co_spawn(context, read_all(late, read_late), net::detached);
  int previous_tokens = running.usage().generated_tokens;
  while (!late.ended() && !running.ended()) {
    toy.running.poll_one();
    context.restart();
    context.poll();
    BOOST_TEST(running.usage().generated_tokens == previous_tokens + 1);
    previous_tokens = running.usage().generated_tokens;
  }
  toy.settle(context);
  BOOST_TEST(read_late == toy_continuation(std::vector<token>(400, 7), 4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(complete_gives_the_whole_generation_with_its_usage) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 30, .max_buffered_tokens = 3});
  std::optional<completion> whole;
  stream.async_complete(net::bind_executor(context, [&](error_code code, completion result) {
    BOOST_TEST(!code);
    whole = std::move(result);
  }));
  toy.time->advance(5ms);
  toy.settle(context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(ids_of(whole->tokens) == toy_continuation({4, 4}, 30), boost::test_tools::per_element());
  BOOST_CHECK(whole->reason == finish_reason::length);
  BOOST_TEST(whole->usage.generated_tokens == 30);
  BOOST_CHECK(whole->usage.time_to_first_token == 5ms);
}

BOOST_AUTO_TEST_CASE(stop_keeps_what_was_produced) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_buffered_tokens = 6});
  toy.settle(context);
  stream.stop();
  toy.settle(context);
  BOOST_TEST(stream.ended());
  BOOST_TEST(toy.running.stats().free_slots == 4);
  std::vector<token> read;
  net::co_spawn(context, read_all(stream, read), net::detached);
  toy.settle(context);
  BOOST_TEST(read == toy_continuation({4, 4}, 6), boost::test_tools::per_element());
  BOOST_CHECK(stream.finish() == finish_reason::aborted);
}

enum class way { destroy, stop, destroy_while_waiting };

BOOST_DATA_TEST_CASE(ending_at_any_moment_frees_the_slot_within_one_step, data::xrange(3) * data::xrange(24), how,
                     moment) {
  net::io_context context;
  toy_engine toy({.max_batched_tokens = 4});
  auto stream = std::make_optional(
      toy.running.generate({.prompt = token_ids(30, 4), .max_tokens = 12, .max_buffered_tokens = 60}));
  auto other = toy.running.generate({.prompt = token_ids{7}, .max_tokens = 40, .max_buffered_tokens = 60});
  int received = 0;
  if (static_cast<way>(how) == way::destroy_while_waiting)
    stream->async_complete(net::bind_executor(context, [&](error_code, completion) { ++received; }));
  for (int i = 0; i < moment; ++i) toy.running.poll_one();
  if (static_cast<way>(how) == way::stop)
    stream->stop();
  else
    stream.reset();
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().free_slots == 3);
  BOOST_TEST(toy.running.stats().sequences == 1);
  if (stream) BOOST_TEST(stream->ended());
  context.poll();
  BOOST_TEST(received == (static_cast<way>(how) == way::destroy_while_waiting));
}

BOOST_AUTO_TEST_CASE(next_for_times_out_and_loses_nothing) {
  net::io_context context;
  toy_engine toy;
  toy.control->hold = true;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 3});
  std::vector<token> read;
  int timed_out = 0;
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        for (;;) {
          error_code code;
          auto piece = co_await stream.async_next_for(10ms, net::redirect_error(net::use_awaitable, code));
          if (code == make_error_code(error::timed_out)) {
            ++timed_out;
            continue;
          }
          BOOST_TEST(!code);
          if (!piece) break;
          read.push_back(piece->tokens.front().id);
        }
      },
      net::detached);
  toy.settle(context);
  for (int i = 0; i < 3; ++i) {
    toy.time->advance(9ms);
    toy.settle(context);
    BOOST_TEST(timed_out == i);
    toy.time->advance(1ms);
    toy.settle(context);
    BOOST_TEST(timed_out == i + 1);
  }
  toy.control->hold = false;
  toy.control->release();
  toy.settle(context);
  BOOST_TEST(read == toy_continuation({4, 4}, 3), boost::test_tools::per_element());
  BOOST_TEST(timed_out == 3);
}

BOOST_AUTO_TEST_CASE(the_first_of_several_wins_and_the_losers_slots_are_free_at_once) {
  using namespace net::experimental::awaitable_operators;
  net::io_context context;
  toy_engine toy;
  const auto branch = [&toy](token first, int count) -> net::awaitable<std::vector<token>> {
    auto stream = toy.running.generate({.prompt = token_ids{first}, .max_tokens = count});
    std::vector<token> read;
    co_await read_all(stream, read);
    co_return read;
  };
  std::optional<std::variant<std::vector<token>, std::vector<token>, std::vector<token>>> winner;
  net::co_spawn(
      context, [&]() -> net::awaitable<void> { winner = co_await (branch(1, 50) || branch(2, 5) || branch(3, 50)); },
      net::detached);
  toy.settle(context);
  BOOST_REQUIRE(winner);
  BOOST_REQUIRE(winner->index() == 1);
  BOOST_TEST(std::get<1>(*winner) == toy_continuation({2}, 5), boost::test_tools::per_element());
  BOOST_TEST(toy.running.stats().free_slots == 4);
  BOOST_TEST(toy.control->batches.size() < 12u);
}

BOOST_AUTO_TEST_CASE(a_second_operation_is_refused_and_the_first_goes_on) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 3});
  error_code first = error::timed_out, second, third;
  stream.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece>) { first = code; }));
  stream.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece>) { second = code; }));
  stream.async_complete(net::bind_executor(context, [&](error_code code, completion) { third = code; }));
  toy.settle(context);
  BOOST_TEST(!first);
  BOOST_CHECK(second == make_error_code(error::operation_in_progress));
  BOOST_CHECK(third == make_error_code(error::operation_in_progress));
}

BOOST_AUTO_TEST_CASE(handlers_never_run_inside_the_call_that_starts_them) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 3});
  toy.settle(context);
  bool inside = true, called = false;
  stream.async_next([&](error_code, std::optional<piece>) {
    BOOST_TEST(!inside);
    called = true;
  });
  inside = false;
  BOOST_TEST(!called);
  toy.running.poll_one();
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
