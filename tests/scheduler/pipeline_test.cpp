#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

limits two_deep() {
  auto result = roomy();
  result.depth = 2;
  return result;
}

/// Keeps two plans in flight until nothing is left to do.
void run_two_deep(served& s) {
  auto ahead = s.launch();
  while (!ahead.empty()) {
    ahead = s.launch();
    s.absorb();
    if (ahead.empty()) ahead = s.launch();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_is_chained_while_its_token_is_in_flight) {
  served s(two_deep());
  const auto id = s.sched.submit({}, {counting(5), output::sample, 9});
  BOOST_CHECK(!row_of(s.launch(), id)->chained);
  const auto second = s.launch();
  BOOST_CHECK(row_of(second, id)->chained);
  BOOST_CHECK_EQUAL(row_of(second, id)->count, 1);
  BOOST_CHECK(tokens_of(second, id).empty());
  s.absorb();
  s.absorb();
  BOOST_CHECK(!row_of(s.launch(), id)->chained);
  BOOST_CHECK(s.sampled(id) == alone(counting(5), 2));
}

BOOST_AUTO_TEST_CASE(nothing_is_chained_one_deep) {
  served s(roomy());
  const auto id = s.sched.submit({}, {counting(5), output::sample, 9});
  for (int i = 0; i < 9; ++i) BOOST_CHECK(!row_of(s.step(), id)->chained);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_may_not_run_ahead_waits_for_each_of_its_tokens) {
  served s(two_deep());
  const auto waits = s.sched.submit({}, {counting(5), output::sample, 9});
  s.sched.run_ahead(waits, false);
  const auto other = s.sched.submit({}, {counting(7), output::sample, 9});
  BOOST_CHECK_EQUAL(s.launch().rows.size(), 2);
  BOOST_CHECK(s.sched.phase_of(waits) == phase::paused);
  const auto second = s.launch();
  BOOST_CHECK(!row_of(second, waits));
  BOOST_CHECK(row_of(second, other)->chained);
  s.absorb();
  BOOST_CHECK(s.sched.phase_of(waits) == phase::decoding);
  s.absorb();
  run_two_deep(s);
  BOOST_CHECK(s.sampled(waits) == alone(counting(5), 9));
  BOOST_CHECK(s.sampled(other) == alone(counting(7), 9));
}

BOOST_AUTO_TEST_CASE(without_running_ahead_two_steps_share_the_sequences) {
  auto within = two_deep();
  within.run_ahead = false;
  served s(within);
  const auto forked = s.sched.fork(prefilled(s, 3));
  std::vector<sequence_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(s.sched.submit({}, {counting(4), output::sample, 20}));
  s.sched.start(forked, {{7}, output::sample, 20});
  s.sched.run_ahead(ids.front(), true);      // the limit stands
  BOOST_TEST(s.launch().rows.size() == 6u);  // prompts
  BOOST_TEST(s.launch().empty());            // each waits for its token
  s.absorb();
  BOOST_TEST(s.launch().rows.size() == 3u);
  for (int i = 0; i < 9; ++i) {
    const auto plan = s.launch();
    BOOST_TEST(plan.rows.size() == 3u);
    for (const auto& row : plan.rows) BOOST_TEST(!row.chained);
    s.absorb();
  }
  s.sched.cancel(ids[0]);
  s.sched.cancel(ids[1]);
  s.sched.cancel(ids[2]);
  s.absorb();
  run_two_deep(s);
  for (const auto id : {ids[3], ids[4]}) BOOST_TEST((s.sampled(id) == alone(counting(4), 20)));
}

BOOST_AUTO_TEST_CASE(one_sequence_alone_has_a_row_in_each_step_it_can) {
  auto within = two_deep();
  within.run_ahead = false;
  served s(within);
  const auto id = s.sched.submit({}, {counting(5), output::sample, 9});
  for (int i = 0; i < 9; ++i) {
    BOOST_TEST(row_of(s.launch(), id));
    BOOST_TEST(s.launch().empty());
    s.absorb();
  }
  BOOST_TEST((s.sampled(id) == alone(counting(5), 9)));
}

BOOST_AUTO_TEST_CASE(a_prompt_goes_on_while_its_last_chunk_is_in_flight) {
  auto within = two_deep();
  within.run_ahead = false;
  within.max_batched_tokens = 8;
  served s(within);
  const auto id = s.sched.submit({}, {counting(20), output::sample, 3});
  BOOST_TEST(row_of(s.launch(), id)->count == 8);
  BOOST_TEST(row_of(s.launch(), id)->count == 8);
  s.absorb();
  BOOST_TEST(row_of(s.launch(), id)->count == 4);
  s.absorb();
  s.absorb();
  run_two_deep(s);
  BOOST_TEST((s.sampled(id) == alone(counting(20), 3)));
}

BOOST_AUTO_TEST_CASE(two_deep_brings_the_same_tokens) {
  served s(two_deep());
  std::vector<sequence_id> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(s.sched.submit({}, {counting(3 + 20 * i), output::sample, 10 + i}));
  run_two_deep(s);
  for (int i = 0; i < 6; ++i)
    BOOST_CHECK(s.sampled(ids[static_cast<std::size_t>(i)]) == alone(counting(3 + 20 * i), 10 + i));
}

BOOST_AUTO_TEST_CASE(an_end_wastes_the_row_after_it_and_leaves_nothing_behind) {
  served s(two_deep());
  const auto expected = alone(counting(5), 4);
  const auto id = s.sched.submit({.end_tokens = {expected[3]}}, {counting(5), output::sample, 100});
  run_two_deep(s);
  BOOST_CHECK(s.sampled(id) == expected);
  BOOST_CHECK_EQUAL(s.count(id, event::kind::finished), 1);
  BOOST_CHECK_EQUAL(s.runner.cache().length(0), 9);
  s.sched.start(id, {{4}, output::sample, 1, 1});
  const auto step = s.step();
  BOOST_REQUIRE_EQUAL(step.truncations.size(), 1);
  BOOST_CHECK_EQUAL(step.truncations[0].length, 8);
  auto held = counting(5);
  held.insert(held.end(), expected.begin(), expected.begin() + 3);
  held.push_back(4);
  BOOST_CHECK_EQUAL(s.sampled(id).back(), alone(held, 1).front());
}

BOOST_AUTO_TEST_CASE(credits_samples_and_length_hold_back_the_row_after_the_last) {
  served s(two_deep());
  const auto poor = s.sched.submit({}, {counting(5), output::sample, 1});
  const auto once = s.sched.submit({}, {counting(5), output::sample, 9, 1});
  const auto few = s.sched.submit({.max_new_tokens = 1}, {counting(5), output::sample, 9});
  const auto full = s.sched.submit({.max_sequence_length = 6}, {counting(5), output::sample, 9});
  BOOST_CHECK_EQUAL(s.launch().rows.size(), 4);
  BOOST_CHECK(s.sched.next().empty());
  s.absorb();
  for (const auto id : {poor, once, few, full}) BOOST_CHECK_EQUAL(s.sampled(id).size(), 1);
}

BOOST_AUTO_TEST_CASE(the_next_chunk_goes_ahead_of_the_results_and_is_wasted_when_the_run_fails) {
  auto within = two_deep();
  within.max_batched_tokens = 4;
  served s(within);
  const auto id = s.sched.submit({}, {counting(10), output::sample, 9});
  s.fails = [first = true](const row&) mutable { return std::exchange(first, false); };
  s.launch();
  BOOST_CHECK_EQUAL(row_of(s.launch(), id)->count, 4);
  BOOST_CHECK_EQUAL(s.absorb().size(), 1);
  BOOST_CHECK(s.absorb().empty());
  BOOST_CHECK(s.sched.tokens(id).empty());
  s.sched.start(id, {counting(3, 7), output::sample, 1, 1});
  s.finish();
  BOOST_CHECK(s.sampled(id) == alone(counting(3, 7), 1));
}

}  // namespace cogen::scheduler
