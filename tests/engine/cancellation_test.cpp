#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;
using type = net::cancellation_type;

// As numbers, which Boost.Test can print.
const std::vector<unsigned> every_type{1, 2, 4};
static_assert(static_cast<unsigned>(type::terminal) == 1 && static_cast<unsigned>(type::partial) == 2 &&
              static_cast<unsigned>(type::total) == 4);

BOOST_AUTO_TEST_SUITE(cancellation)

/// Reads a stream by callbacks, and cancels its n-th wait just after it began; then goes on reading.
class interrupted_reader {
 public:
  interrupted_reader(net::io_context& context, token_stream& stream, int cancel_at, type kind)
      : context_(context), stream_(stream), cancel_at_(cancel_at), kind_(kind) {}

  void read() {
    stream_.async_next(net::bind_cancellation_slot(
        signal_.slot(), net::bind_executor(context_, [this](error_code code, std::optional<piece> next) {
          waiting_ = false;
          if (code == net::error::operation_aborted) {
            ++cancelled;
          } else if (!next) {
            ended = true;
            return;
          } else {
            for (const auto& each : next->tokens) tokens.push_back(each.id);
          }
          read();
        })));
    waiting_ = true;
  }

  /// Between any two things that can happen.
  void tick() {
    if (ticks_++ == cancel_at_ && waiting_) signal_.emit(kind_);
  }

  std::vector<token> tokens;
  int cancelled = 0;
  bool ended = false;

 private:
  net::io_context& context_;
  token_stream& stream_;
  net::cancellation_signal signal_;
  int cancel_at_;
  type kind_;
  int ticks_ = 0;
  bool waiting_ = false;
};

BOOST_DATA_TEST_CASE(cancelling_a_wait_at_any_moment_loses_no_token, data::make(every_type) * data::make({0, 1, 5}),
                     how, max_buffered_tokens) {
  int cancelled = 0;
  for (int moment = 0; moment < 60; ++moment) {
    net::io_context context;
    toy_engine toy;
    auto stream =
        toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 9, .max_buffered_tokens = max_buffered_tokens});
    interrupted_reader reader(context, stream, moment, static_cast<type>(how));
    reader.read();
    for (int round = 0; round < 120 && !reader.ended; ++round) {
      reader.tick();
      if (round % 2 == 0)
        toy.running.poll_one();
      else
        context.restart(), context.poll_one();
    }
    BOOST_TEST(reader.ended);
    BOOST_TEST(reader.tokens == toy_continuation({4, 4}, 9), boost::test_tools::per_element());
    cancelled += reader.cancelled;
  }
  BOOST_TEST(cancelled > 5);
}

BOOST_AUTO_TEST_CASE(cancelling_a_wait_under_strict_control_generates_no_token_too_many) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 9, .max_buffered_tokens = 0});
  int read = 0;
  for (int i = 0; i < 9; ++i) {
    net::cancellation_signal signal;
    stream.async_next(net::bind_cancellation_slot(
        signal.slot(),
        net::bind_executor(context, [&](error_code, std::optional<piece> next) { read += next.has_value(); })));
    if (i % 2 == 0) signal.emit(type::total);
    toy.settle(context);
    BOOST_TEST(read == (i + 1) / 2);
    BOOST_TEST(stream.usage().generated_tokens <= read + 1);
  }
}

BOOST_DATA_TEST_CASE(a_cancelled_complete_gives_what_there_is_or_leaves_it_to_be_read, data::make(every_type), how) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 20, .max_buffered_tokens = 2});
  net::cancellation_signal signal;
  std::optional<completion> part, rest;
  error_code received;
  stream.async_complete(
      net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [&](error_code code, completion result) {
                                    received = code;
                                    part = std::move(result);
                                  })));
  for (int i = 0; i < 8; ++i) toy.running.poll_one();
  signal.emit(static_cast<type>(how));
  context.poll();
  BOOST_REQUIRE(part);
  BOOST_TEST((received == net::error::operation_aborted) == (static_cast<type>(how) == type::terminal));
  BOOST_TEST(part->tokens.empty() == (static_cast<type>(how) == type::terminal));
  stream.async_complete(net::bind_executor(context, [&](error_code, completion result) { rest = std::move(result); }));
  toy.settle(context);
  BOOST_REQUIRE(rest);
  auto ids = ids_of(part->tokens);
  for (const auto& each : rest->tokens) ids.push_back(each.id);
  BOOST_TEST(ids == toy_continuation({4, 4}, 20), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(a_cancelled_forward_leaves_the_sequence_as_it_was, data::make(every_type), how) {
  const std::vector<token> held{3, 1, 4}, fed(20, 5), after{9, 2};
  for (int moment = 0; moment < 16; ++moment) {
    net::io_context context;
    toy_engine toy;
    auto sequence = toy.running.open();
    error_code received;
    sequence.async_forward(held, logits_of::last, net::bind_executor(context, [](error_code, logits) {}));
    toy.settle(context);

    net::cancellation_signal signal;
    bool done = false;
    sequence.async_forward(
        fed, logits_of::all,
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [&](error_code code, logits) {
                                      received = code;
                                      done = true;
                                    })));
    toy.control->hold = moment % 2 == 1;
    for (int i = 0; i < moment / 2 && !done; ++i) {
      toy.control->release();
      toy.running.poll_one();
    }
    signal.emit(static_cast<type>(how));
    context.restart();
    context.poll();
    BOOST_TEST(done);
    auto expected = held;
    if (!received) expected.insert(expected.end(), fed.begin(), fed.end());
    BOOST_TEST(sequence.tokens() == expected, boost::test_tools::per_element());

    std::optional<logits> last;
    sequence.async_forward(after, logits_of::last,
                           net::bind_executor(context, [&](error_code, logits result) { last = std::move(result); }));
    toy.control->hold = false;
    toy.control->release();
    toy.settle(context);
    expected.insert(expected.end(), after.begin(), after.end());
    BOOST_REQUIRE(last);
    BOOST_TEST(last->last() == toy_scores(expected), boost::test_tools::per_element());
    BOOST_TEST(sequence.tokens() == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_operation_begun_right_after_a_cancelled_one_gets_its_own_result) {
  net::io_context context;
  toy_engine toy;
  auto sequence = toy.running.open();
  toy.control->hold = true;
  net::cancellation_signal signal;
  sequence.async_forward(
      {1, 2}, logits_of::last,
      net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [](error_code, logits) {})));
  toy.running.poll_one();
  signal.emit(type::terminal);
  std::optional<logits> second;
  sequence.async_forward({7}, logits_of::last,
                         net::bind_executor(context, [&](error_code, logits result) { second = std::move(result); }));
  toy.control->hold = false;
  toy.control->release();
  toy.settle(context);
  BOOST_REQUIRE(second);
  BOOST_TEST(second->last() == toy_scores(std::vector<token>{7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fork_right_after_a_cancelled_operation_holds_what_was_held_then) {
  for (const bool fails : {false, true}) {
    net::io_context context;
    toy_engine toy;
    if (fails) toy.control->poisoned[50] = true;
    auto sequence = toy.running.open();
    sequence.async_forward({3, 1, 4}, logits_of::last, net::bind_executor(context, [](error_code, logits) {}));
    toy.settle(context);
    toy.control->hold = true;
    net::cancellation_signal signal;
    sequence.async_decode(
        {50}, sampling_params{},
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [](error_code, sampled_token) {})));
    toy.running.poll_one();
    if (fails) toy.control->release();
    signal.emit(type::terminal);
    auto child = sequence.fork();
    sequence.truncate(1);
    toy.control->hold = false;
    toy.control->release();
    std::optional<logits> of_child, of_parent;
    child.async_forward({5}, logits_of::last,
                        net::bind_executor(context, [&](error_code, logits result) { of_child = std::move(result); }));
    sequence.async_forward({6}, logits_of::last, net::bind_executor(context, [&](error_code, logits result) {
                             of_parent = std::move(result);
                           }));
    toy.settle(context);
    BOOST_REQUIRE((of_child && of_parent));
    BOOST_TEST(of_child->last() == toy_scores(std::vector<token>{3, 1, 4, 5}), boost::test_tools::per_element());
    BOOST_TEST(of_parent->last() == toy_scores(std::vector<token>{3, 6}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_cancel_inside_the_completion_handler_and_a_double_one_are_harmless) {
  net::io_context context;
  toy_engine toy;
  auto stream = toy.running.generate({.prompt = token_ids{4, 4}, .max_tokens = 3});
  net::cancellation_signal signal;
  int called = 0;
  stream.async_next(
      net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [&](error_code, std::optional<piece>) {
                                    ++called;
                                    signal.emit(type::terminal);
                                  })));
  toy.settle(context);
  signal.emit(type::terminal);
  BOOST_TEST(called == 1);
  stream.async_next(net::bind_cancellation_slot(
      signal.slot(), net::bind_executor(context, [&](error_code, std::optional<piece>) { ++called; })));
  signal.emit(type::total);
  signal.emit(type::terminal);
  toy.settle(context);
  BOOST_TEST(called == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
