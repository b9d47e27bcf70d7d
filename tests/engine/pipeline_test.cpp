// Devices that end their steps later than they are launched.
#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(pipeline)

std::vector<token> read_whole(toy_engine& toy, request wanted) {
  net::io_context context;
  std::optional<completion> whole;
  auto stream = toy.running.generate(std::move(wanted));
  stream.async_complete(net::bind_executor(context, [&](error_code, completion result) { whole = std::move(result); }));
  for (int i = 0; i < 200 && !whole; ++i) {
    for (int launched = 0; launched < 3; ++launched) toy.running.poll_one();
    toy.control->release();
    context.restart();
    context.poll();
  }
  BOOST_REQUIRE(whole);
  return ids_of(whole->tokens);
}

BOOST_DATA_TEST_CASE(what_is_sampled_does_not_depend_on_how_many_steps_are_in_flight, data::make({false, true}), late) {
  const auto lively = sampling_params{.temperature = 40, .repetition_penalty = 1.3, .seed = 11};
  const auto asked = request{.prompt = token_ids{4, 4}, .max_tokens = 20, .sampling = lively};
  toy_engine serial, two({.depth = 2, .late = late});
  two.control->hold = true;
  int chained = 0;
  two.control->on_step = [&](const scheduler::step& plan) {
    for (const auto& row : plan.rows) chained += row.chained;
  };
  BOOST_TEST(read_whole(two, asked) == read_whole(serial, asked), boost::test_tools::per_element());
  BOOST_TEST(chained > 10);
}

BOOST_AUTO_TEST_CASE(a_decode_may_be_cancelled_before_its_token_is_sampled) {
  net::io_context context;
  toy_engine toy({.late = true});
  toy.control->hold = true;
  auto sequence = toy.running.open();
  net::cancellation_signal signal;
  error_code received;
  sequence.async_decode(
      {1, 2}, sampling_params{},
      net::bind_cancellation_slot(
          signal.slot(), net::bind_executor(context, [&](error_code code, sampled_token) { received = code; })));
  toy.running.poll_one();
  signal.emit(net::cancellation_type::terminal);
  std::optional<logits> scores;
  sequence.async_forward({7}, logits_of::last,
                         net::bind_executor(context, [&](error_code, logits result) { scores = std::move(result); }));
  toy.running.poll_one();
  toy.control->release();
  toy.control->hold = false;
  toy.settle(context);
  BOOST_CHECK_EQUAL(received, make_error_code(net::error::operation_aborted));
  BOOST_REQUIRE(scores);
  BOOST_TEST(scores->last() == toy_scores(std::vector<token>{7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
