#include "scheduler/served.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <set>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(batches)
namespace {

sequence_id stream(served& s, std::vector<token> prompt) {
  return s.sched.submit({}, {std::move(prompt), output::sample, plenty});
}

}  // namespace

BOOST_AUTO_TEST_CASE(decode_rows_come_first_and_chunks_fill_the_rest) {
  auto within = roomy();
  within.max_batched_tokens = 10;
  served s(within);
  const auto a = stream(s, {1});
  const auto b = stream(s, {2});
  s.step();
  const auto late = stream(s, counting(20));
  const auto later = stream(s, counting(5));

  auto step = s.step();
  BOOST_REQUIRE_EQUAL(step.rows.size(), 3);
  BOOST_CHECK(step.rows[0].sequence == a);
  BOOST_CHECK(step.rows[1].sequence == b);
  BOOST_CHECK(step.rows[2].sequence == late);
  BOOST_CHECK_EQUAL(step.rows[2].count, 8);
  BOOST_CHECK(step.rows[2].wanted == output::nothing);

  step = s.step();
  BOOST_CHECK_EQUAL(row_of(step, late)->count, 8);
  step = s.step();
  BOOST_CHECK_EQUAL(row_of(step, late)->count, 4);
  BOOST_CHECK(row_of(step, late)->wanted == output::sample);
  BOOST_CHECK_EQUAL(row_of(step, later)->count, 4);
}

BOOST_AUTO_TEST_CASE(chunks_that_no_running_stream_waits_for_may_be_longer) {
  auto within = roomy();
  within.max_batched_tokens = 10;
  within.prefill_tokens = 25;
  served s(within);
  const auto a = stream(s, counting(30));
  const auto b = stream(s, counting(60));
  auto step = s.step();
  BOOST_CHECK_EQUAL(row_of(step, a)->count, 25);
  step = s.step();
  BOOST_CHECK_EQUAL(row_of(step, a)->count, 5);
  BOOST_CHECK_EQUAL(row_of(step, b)->count, 20);
  step = s.step();
  BOOST_CHECK_EQUAL(row_of(step, a)->count, 1);
  BOOST_CHECK_EQUAL(row_of(step, b)->count, 9);
  s.sched.cancel(a);
  BOOST_CHECK_EQUAL(row_of(s.step(), b)->count, 25);
}

BOOST_AUTO_TEST_CASE(plans_are_never_shorter_for_want_of_running_streams) {
  auto within = roomy();
  within.max_batched_tokens = 10;
  within.prefill_tokens = 4;
  served s(within);
  const auto a = stream(s, counting(30));
  BOOST_CHECK_EQUAL(row_of(s.step(), a)->count, 10);
}

BOOST_AUTO_TEST_CASE(a_running_stream_has_a_row_in_every_plan_however_long_prompts_are) {
  auto within = roomy();
  within.max_batched_tokens = 16;
  served s(within);
  const auto a = stream(s, {1});
  s.step();
  for (int i = 0; i < 5; ++i) stream(s, counting(200));
  for (int i = 0; i < 60; ++i) {
    const auto step = s.step();
    BOOST_CHECK(row_of(step, a));
    BOOST_CHECK_LE(tokens_in(step), 16);
  }
}

BOOST_AUTO_TEST_CASE(streams_take_turns_where_a_plan_is_too_small_for_all) {
  auto within = roomy();
  within.max_batched_tokens = 3;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(stream(s, {i}));
  for (int i = 0; i < 80; ++i) s.step();
  for (const auto id : ids) BOOST_CHECK_EQUAL(s.sampled(id).size(), 30);
}

BOOST_DATA_TEST_CASE(a_prompt_comes_through_although_streams_fill_every_plan,
                     boost::unit_test::data::make({1, 2, 3, 7}), max_batched_tokens) {
  auto within = roomy();
  within.max_batched_tokens = max_batched_tokens;
  served s(within);
  std::vector<sequence_id> streams;
  for (int i = 0; i < 7; ++i) streams.push_back(stream(s, {i}));
  for (int i = 0; i < 20; ++i) s.step();
  const auto prompt = stream(s, counting(10));
  std::vector<std::size_t> counts;
  for (const auto id : streams) counts.push_back(s.sampled(id).size());
  int steps = 0;
  while (s.sampled(prompt).empty() && steps < 1000) {
    s.step();
    ++steps;
  }
  const int streams_ahead = 8;  // the last token takes its turn among the streams
  BOOST_CHECK_LE(steps, (max_batched_tokens == 1 ? 18 : 9) + streams_ahead);
  if (max_batched_tokens > 1)
    for (std::size_t i = 0; i < streams.size(); ++i) BOOST_CHECK_GT(s.sampled(streams[i]).size(), counts[i]);
}

BOOST_AUTO_TEST_CASE(a_plan_of_one_token_serves_prompts_and_streams_by_turns) {
  auto within = roomy();
  within.max_batched_tokens = 1;
  served s(within);
  const auto a = stream(s, {1});
  s.step();
  stream(s, counting(50));
  for (int i = 0; i < 20; ++i) s.step();
  BOOST_CHECK_EQUAL(s.sampled(a).size(), 11);
}

BOOST_DATA_TEST_CASE(any_chunk_size_brings_the_same_tokens, boost::unit_test::data::xrange(1, 30, 4),
                     max_batched_tokens) {
  auto within = roomy();
  within.max_batched_tokens = max_batched_tokens;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(s.sched.submit({.max_new_tokens = 12}, {counting(3 + 9 * i, i), output::sample, plenty}));
  s.finish();
  for (int i = 0; i < 5; ++i) {
    const auto expected = alone(counting(3 + 9 * i, i), 12);
    BOOST_TEST(s.sampled(ids[static_cast<std::size_t>(i)]) == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(events_come_in_the_order_of_the_rows) {
  served s(roomy());
  for (int i = 0; i < 6; ++i) stream(s, counting(1 + i));
  s.launch();
  int row = 0;
  for (const auto& each : s.absorb()) BOOST_CHECK_EQUAL(each.row, row++);
  BOOST_CHECK_EQUAL(row, 6);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
