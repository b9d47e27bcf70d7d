// Several streams read as one: what comes in which order, at its ends, after cancellations, and beside other
// operations.
#include "toy_runner.hpp"

#include <cogen/stream_group.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <set>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(stream_groups)

namespace data = boost::unit_test::data;
using type = net::cancellation_type;

const std::vector<unsigned> every_type{1, 2, 4};  // terminal, partial, total
const std::vector<token> prompt{4, 4};
constexpr int length = 6;

request asked(int max_buffered_tokens = 16) {
  return {.prompt = token_ids(prompt), .max_tokens = length, .max_buffered_tokens = max_buffered_tokens};
}

/// Reads a group by callbacks to its end.
class group_reader {
 public:
  group_reader(net::io_context& context, stream_group& group, bool events = false)
      : context_(context), group_(group), events_(events), tokens(group.size()) {}

  void read() {
    waiting = true;
    auto handler = net::bind_cancellation_slot(
        signal.slot(), net::bind_executor(context_, [this](error_code code, std::optional<stream_event> next) {
          waiting = false;
          take(code, std::move(next));
        }));
    events_ ? group_.async_next_event(std::move(handler)) : group_.async_next(std::move(handler));
  }

  net::cancellation_signal signal;
  bool waiting = false;

 private:
  void take(error_code code, std::optional<stream_event> next) {
    ++results;
    if (code == net::error::operation_aborted)
      ++cancelled;
    else if (code)
      failures.push_back(code);
    else if (!next)
      ended = true;
    else
      take(*next);
    if (!ended && !pauses) read();
  }

  void take(const stream_event& next) {
    order.push_back(next.index);
    for (const auto& each : next.piece.tokens) tokens[next.index].push_back(each.id);
    if (next.progress) progress.emplace_back(next.index, next.progress->processed);
    if (next.finish) finished.emplace_back(next.index, *next.finish);
    BOOST_TEST(next.piece.tokens.empty() == (next.progress || next.finish));
  }

  net::io_context& context_;
  stream_group& group_;
  bool events_;

 public:
  std::vector<std::vector<token>> tokens;
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, int>> progress;
  std::vector<std::pair<std::size_t, finish_reason>> finished;
  std::vector<error_code> failures;
  int results = 0;
  int cancelled = 0;
  bool pauses = false;
  bool ended = false;
};

void check_all_said(const group_reader& reader) {
  BOOST_TEST(reader.ended);
  for (const auto& each : reader.tokens)
    BOOST_TEST(each == toy_continuation(prompt, length), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(it_gives_the_pieces_of_all_streams_and_none_at_the_end, data::make({0, 1, 16}), buffered) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(buffered), 3);
  group_reader reader(context, group);
  reader.read();
  toy.settle(context);
  check_all_said(reader);
  BOOST_TEST(reader.order.size() == 3u * length);
  for (const auto& each : group) BOOST_CHECK(each.finish() == finish_reason::length);
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_ahead_does_not_keep_the_others_from_their_turn) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(), 3);
  toy.settle(context);
  group_reader reader(context, group);
  reader.read();
  toy.settle(context);
  check_all_said(reader);
  for (std::size_t i = 0; i < reader.order.size(); i += 3) {
    const std::set<std::size_t> turn(reader.order.begin() + static_cast<std::ptrdiff_t>(i),
                                     reader.order.begin() + static_cast<std::ptrdiff_t>(i + 3));
    BOOST_TEST(turn.size() == 3u);
  }
}

BOOST_AUTO_TEST_CASE(events_are_progress_before_the_pieces_and_an_end_after_them) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(), 2);
  group_reader reader(context, group, true);
  reader.read();
  toy.settle(context);
  check_all_said(reader);
  BOOST_TEST(reader.finished.size() == 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto is_its = [&](const auto& entry) { return entry.first == i; };
    BOOST_REQUIRE(std::ranges::any_of(reader.progress, is_its));
    const auto last = std::ranges::find_if(reader.progress.rbegin(), reader.progress.rend(), is_its);
    BOOST_TEST(last->second == std::ssize(prompt));
    BOOST_TEST(std::ranges::count_if(reader.finished, is_its) == 1);
  }
}

BOOST_DATA_TEST_CASE(cancelling_a_wait_at_any_moment_loses_no_token, data::make(every_type) * data::make({0, 1, 5}),
                     how, buffered) {
  int cancelled = 0;
  for (int moment = 0; moment < 60; ++moment) {
    net::io_context context;
    toy_engine toy;
    auto group = toy.running.generate_n(asked(buffered), 2);
    group_reader reader(context, group);
    reader.read();
    for (int round = 0; round < 200 && !reader.ended; ++round) {
      if (round == moment && reader.waiting) reader.signal.emit(static_cast<type>(how));
      if (round % 2 == 0)
        toy.running.poll_one();
      else
        context.restart(), context.poll_one();
    }
    check_all_said(reader);
    cancelled += reader.cancelled;
  }
  BOOST_TEST(cancelled > 5);
}

BOOST_AUTO_TEST_CASE(one_operation_may_be_pending_on_it_and_its_streams) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(), 2);
  group_reader reader(context, group);
  reader.pauses = true;
  reader.read();
  std::vector<error_code> codes;
  const auto note = [&] {
    return net::bind_executor(context, [&](error_code code, const auto&) { codes.push_back(code); });
  };
  group.async_next(note());
  group[0].async_next(note());
  group[1].async_complete(note());
  context.poll();
  BOOST_TEST(codes.size() == 3u);
  for (const auto& each : codes) BOOST_CHECK(each == error::operation_in_progress);
  toy.settle(context);
  BOOST_TEST(reader.results == 1);
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_read_by_itself_keeps_its_pieces) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(2), 2);
  std::vector<token> whole;
  group[1].async_complete(
      net::bind_executor(context, [&](error_code, const completion& answer) { whole = ids_of(answer.tokens); }));
  group_reader reader(context, group);
  reader.read();
  toy.settle(context);
  BOOST_TEST(reader.ended);
  BOOST_TEST(whole == toy_continuation(prompt, length), boost::test_tools::per_element());
  BOOST_TEST(reader.tokens[0] == whole, boost::test_tools::per_element());
  BOOST_TEST(reader.tokens[1].empty());
}

BOOST_DATA_TEST_CASE(a_stream_that_is_no_longer_read_by_itself_comes_back, data::make({false, true}), destroyed) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(), 2);
  auto lost = std::make_unique<net::io_context>();
  net::cancellation_signal signal;
  group[1].async_complete(
      net::bind_cancellation_slot(signal.slot(), net::bind_executor(*lost, [](error_code, const completion&) {})));
  group_reader reader(context, group);
  reader.read();
  toy.settle(context);
  BOOST_TEST(!reader.ended);
  if (destroyed)
    lost.reset();
  else
    signal.emit(type::terminal);
  toy.settle(context);
  check_all_said(reader);
}

BOOST_AUTO_TEST_CASE(a_stream_that_fails_fails_it_once_and_the_others_go_on) {
  net::io_context context;
  toy_engine toy;
  std::vector<token_stream> streams;
  streams.push_back(toy.running.generate({.prompt = token_ids{97}}));
  streams.push_back(toy.running.generate(asked()));
  stream_group group(std::move(streams));
  group_reader reader(context, group);
  reader.read();
  toy.settle(context);
  BOOST_TEST(reader.ended);
  BOOST_REQUIRE_EQUAL(reader.failures.size(), 1u);
  BOOST_CHECK(reader.failures[0] == error::invalid_request);
  BOOST_TEST(reader.tokens[1] == toy_continuation(prompt, length), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(its_error_has_the_sentence) {
  toy_engine toy;
  auto group = toy.running.generate_n({.prompt = token_ids{1, 97}}, 2);
  auto result = group.async_next(net::use_future);
  BOOST_CHECK_EXCEPTION(result.get(), generation_error,
                        [&](const auto& failed) { return failed.what() == group[0].error().message(); });
}

BOOST_AUTO_TEST_CASE(a_stopped_group_can_be_read_to_its_end) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(2), 3);
  toy.settle(context);
  group.stop();
  group_reader reader(context, group, true);
  reader.read();
  toy.settle(context);
  BOOST_TEST(reader.ended);
  BOOST_TEST(reader.finished.size() == 3u);
  for (const auto& each : reader.finished) BOOST_CHECK(each.second == finish_reason::aborted);
}

BOOST_AUTO_TEST_CASE(destroying_it_ends_its_generations_and_its_wait) {
  net::io_context context;
  toy_engine toy;
  error_code code;
  {
    auto group = toy.running.generate_n(asked(0), 3);
    group.async_next(net::bind_executor(context, [&](error_code got, const auto&) { code = got; }));
  }
  toy.settle(context);
  BOOST_CHECK(code == net::error::operation_aborted);
  BOOST_TEST(toy.running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_destroyed_alone_ends_for_the_group_too) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(), 2);
  group_reader reader(context, group);
  reader.read();
  static_cast<void>(token_stream(std::move(group[0])));
  toy.settle(context);
  BOOST_TEST(reader.ended);
  BOOST_TEST(reader.tokens[1] == toy_continuation(prompt, length), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_engine_that_ends_fails_the_wait) {
  net::io_context context;
  toy_engine toy;
  auto group = toy.running.generate_n(asked(), 2);
  group_reader reader(context, group);
  reader.read();
  toy.running.stop();
  toy.settle(context);
  BOOST_TEST(reader.ended);
  BOOST_TEST(reader.failures.size() == 2u);
  for (const auto& each : reader.failures) BOOST_CHECK(each == error::engine_stopped);
}

BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_leaves_the_pieces_to_the_next_reader) {
  toy_engine toy;
  auto group = toy.running.generate_n(asked(), 2);
  for (const int rounds : {0, 3}) {
    net::io_context lost;
    group.async_next(net::bind_executor(lost, [](error_code, const auto&) {}));
    for (int i = 0; i < rounds; ++i) toy.running.poll_one();
  }
  net::io_context context;
  group_reader reader(context, group);
  reader.read();
  toy.settle(context);
  check_all_said(reader);
}

BOOST_AUTO_TEST_CASE(streams_can_be_grouped_anew) {
  net::io_context context;
  toy_engine toy;
  auto first = toy.running.generate_n(asked(), 2);
  std::vector<token_stream> streams;
  for (auto& each : first) streams.push_back(std::move(each));
  streams.push_back(toy.running.generate(asked()));
  stream_group group(std::move(streams));
  group_reader reader(context, group);
  reader.read();
  toy.settle(context);
  check_all_said(reader);
  BOOST_CHECK_THROW(static_cast<void>(stream_group(std::vector<token_stream>())), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(an_engines_thread_and_a_programs_read_and_write_at_once) {
  toy_engine toy({.slots = 4}, {});
  for (int i = 0; i < 20; ++i) {
    auto group = toy.running.generate_n(asked(i % 3), 4);
    std::vector<std::vector<token>> said(4);
    while (const auto next = group.async_next(net::use_future).get())
      for (const auto& each : next->piece.tokens) said[next->index].push_back(each.id);
    for (const auto& each : said)
      BOOST_TEST(each == toy_continuation(prompt, length), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
