// One of sixteen readers stops: the others take exactly the steps that they take without it.
#include "toy_runner.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

constexpr int ahead = 4;
constexpr int length = 30;

net::awaitable<void> read(token_stream& stream, std::size_t count, std::vector<token>& tokens) {
  while (tokens.size() < count) {
    const auto piece = co_await stream.async_next();
    if (!piece) co_return;
    for (const auto& each : piece->tokens) tokens.push_back(each.id);
  }
}

/// Streams, and how far each is read.
struct other_streams {
  explicit other_streams(int slots)
      : toy({.slots = slots,
             .max_sequence_length = 64,
             .max_batched_tokens = 64,
             .idle_timeout = std::chrono::nanoseconds(10ms)}) {}

  void open(token first) { streams.push_back(toy.running.generate(request_of(first))), read_so_far.emplace_back(); }

  static request request_of(token first) {
    return {.prompt = token_ids{first, 9}, .max_tokens = length, .max_buffered_tokens = ahead};
  }

  void read_up_to(std::size_t which, std::size_t count) {
    net::co_spawn(context, read(streams[which], count, read_so_far[which]), net::detached);
  }

  bool round() {
    const bool stepped = toy.running.poll_one();
    context.restart();
    return context.poll() > 0 || stepped;
  }

  /// Steps until the streams from `first` on have ended.
  std::size_t steps_until_the_end_from(std::size_t first) {
    const auto previous = toy.control->batches.size();
    const auto ended = [&] {
      return std::all_of(streams.begin() + static_cast<std::ptrdiff_t>(first), streams.end(),
                         [](const auto& stream) { return stream.ended(); });
    };
    for (int rounds = 0; rounds < 1000 && !ended(); ++rounds) round();
    BOOST_TEST(ended());
    return toy.control->batches.size() - previous;
  }

  void check(std::size_t which, token first) const {
    BOOST_TEST(read_so_far[which] == toy_continuation({first, 9}, length), boost::test_tools::per_element());
  }

  net::io_context context;
  toy_engine toy;
  std::deque<token_stream> streams;  // coroutines refer to them
  std::deque<std::vector<token>> read_so_far;
};

/// Fifteen brisk ones alone.
std::size_t steps_without_it() {
  other_streams readers(16);
  for (token first = 1; first < 16; ++first) readers.open(first);
  for (std::size_t i = 0; i < 15; ++i) readers.read_up_to(i, length);
  return readers.steps_until_the_end_from(0);
}

BOOST_AUTO_TEST_SUITE(slow_readers)

BOOST_DATA_TEST_CASE(fifteen_take_no_more_steps_beside_one_that_is_not_read,
                     data::make({0, 1, 7, 16}) * data::make({true, false}), slow_reads, slot_is_wanted) {
  other_streams readers(slot_is_wanted ? 15 : 16);
  readers.open(0);
  readers.read_up_to(0, static_cast<std::size_t>(slow_reads));
  readers.toy.settle(readers.context);
  const auto asleep = readers.streams[0].usage().generated_tokens;
  BOOST_TEST(asleep >= slow_reads);
  BOOST_TEST(asleep <= slow_reads + ahead);
  readers.toy.time->advance(10ms);

  for (token first = 1; first < 16; ++first) readers.open(first);
  for (std::size_t i = 1; i < 16; ++i) readers.read_up_to(i, length);
  BOOST_TEST(readers.steps_until_the_end_from(1) == steps_without_it());
  readers.toy.settle(readers.context);
  for (token first = 1; first < 16; ++first) readers.check(static_cast<std::size_t>(first), first);
  BOOST_TEST(!readers.streams[0].ended());
  BOOST_TEST(readers.streams[0].usage().generated_tokens == asleep);
  BOOST_TEST(readers.toy.running.stats().preempted == (slot_is_wanted ? 1u : 0u));

  readers.read_up_to(0, length);
  readers.toy.settle(readers.context);
  readers.check(0, 0);
  BOOST_TEST(readers.toy.running.stats().free_slots == (slot_is_wanted ? 15 : 16));
}

BOOST_AUTO_TEST_CASE(one_that_stops_midway_gives_its_slot_to_the_next_and_the_others_do_not_notice) {
  const auto alone = steps_without_it();
  other_streams readers(16);
  for (token first = 0; first < 16; ++first) readers.open(first);
  readers.read_up_to(0, 6);
  for (std::size_t i = 1; i < 16; ++i) readers.read_up_to(i, length);
  for (int rounds = 0; rounds < 15; ++rounds) readers.round();
  const auto so_far = readers.toy.control->batches.size();
  readers.open(16);
  readers.read_up_to(16, length);
  readers.toy.time->advance(10ms);
  readers.round();
  readers.toy.time->advance(10ms);
  while (!std::all_of(readers.streams.begin() + 1, readers.streams.begin() + 16,
                      [](auto& stream) { return stream.ended(); }))
    BOOST_REQUIRE(readers.round());
  BOOST_TEST(readers.toy.control->batches.size() == alone);
  BOOST_TEST(so_far < alone);
  BOOST_TEST(readers.streams[16].usage().generated_tokens > 0);
  readers.read_up_to(0, length);
  readers.toy.settle(readers.context);
  for (token first = 0; first < 17; ++first) readers.check(static_cast<std::size_t>(first), first);
  BOOST_TEST(readers.toy.running.stats().preempted == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
