// Memory is reserved as sequences grow, and which are preempted where there is no more.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

/// Memory for so many tokens, in blocks of 4.
limits tight(int tokens) {
  auto within = roomy();
  within.slots = within.spare_slots = 4;
  within.memory_bytes = tokens;
  within.max_sequence_length = std::min(within.max_sequence_length, tokens);
  within.swap_bytes = 1'000'000;
  return within;
}

served growing(int tokens, watermark_options marks = {.high = 1, .low = 1, .step = 0},
               std::unique_ptr<scheduling_policy> policy = fcfs()) {
  return served(tight(tokens), std::move(policy), longest_idle(), watermarks(marks));
}

sequence_id ask(served& s, int prompt, int samples, int first_token = 0, int priority = 0) {
  return s.sched.submit({.max_new_tokens = samples, .priority = priority, .release_at_end = true},
                        {counting(prompt, first_token), output::sample, samples});
}

}  // namespace

BOOST_AUTO_TEST_CASE(watermarks_set_aside_a_step_more_than_is_needed) {
  const auto marks = watermarks({.high = 0.75, .low = 0.5, .step = 10});
  BOOST_CHECK_EQUAL(marks->tokens(5, 100), 15);
  BOOST_CHECK_EQUAL(marks->tokens(90, 100), 100);
  BOOST_CHECK_EQUAL(marks->tokens(91, 100), 100);
  BOOST_CHECK_EQUAL(marks->tokens(std::numeric_limits<int>::max() - 1, std::numeric_limits<int>::max()),
                    std::numeric_limits<int>::max());
  BOOST_CHECK_EQUAL(marks->high(1000), 750);
  BOOST_CHECK_EQUAL(marks->low(1000), 500);
  const auto unlimited = std::numeric_limits<std::int64_t>::max();
  BOOST_CHECK_EQUAL(watermarks({.high = 1, .low = 1})->high(unlimited), unlimited);
  BOOST_CHECK_EQUAL(reserve_max_length()->tokens(5, 100), 100);
  BOOST_CHECK_EQUAL(reserve_max_length()->high(1000), 1000);
}

BOOST_AUTO_TEST_CASE(watermarks_that_make_no_sense_are_named) {
  const auto refusal = [](const watermark_options& options) -> std::string {
    try {
      watermarks(options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  BOOST_CHECK_EQUAL(refusal({.high = 0}), "watermarks.high is 0.000000; it must be above 0 and at most 1");
  BOOST_CHECK_EQUAL(refusal({.high = 1.5}), "watermarks.high is 1.500000; it must be above 0 and at most 1");
  BOOST_CHECK(refusal({.high = std::numeric_limits<double>::quiet_NaN()}) != "");
  BOOST_CHECK_EQUAL(refusal({.high = 0.5, .low = 0.6}),
                    "watermarks.low is 0.600000; it must be above 0 and at most high, 0.500000");
  BOOST_CHECK(refusal({.high = 0.5, .low = 0}) != "");
  BOOST_CHECK_EQUAL(refusal({.step = -1}), "watermarks.step is -1; it must be at least 0");
  BOOST_CHECK_EQUAL(refusal({.high = 1, .low = 1, .step = 0}), "");
}

BOOST_AUTO_TEST_CASE(more_run_beside_each_other_than_could_with_their_whole_length) {
  for (const bool whole : {true, false}) {
    served s(tight(32), fcfs(), longest_idle(), whole ? reserve_max_length() : watermarks({1, 1, 0}));
    const auto first = ask(s, 4, 20), second = ask(s, 4, 20, 50);
    s.step();
    BOOST_CHECK_EQUAL(s.sched.scheduled(first) + s.sched.scheduled(second), whole ? 1 : 2);
    BOOST_CHECK_EQUAL(s.sched.reserved(first), whole ? 24 : 4);
    s.finish();
    BOOST_CHECK(s.sampled(first) == alone(counting(4), 20));
    BOOST_CHECK(s.sampled(second) == alone(counting(4, 50), 20));
    BOOST_CHECK_EQUAL(s.sched.preempted() > 0, !whole);
  }
}

BOOST_AUTO_TEST_CASE(a_sequence_grows_by_steps_and_takes_less_where_there_is_less) {
  auto s = growing(16, {.high = 1, .low = 1, .step = 8});
  const auto grows = ask(s, 2, 14);
  s.step();
  BOOST_CHECK_EQUAL(s.sched.reserved(grows), 12);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 12);
  for (int i = 0; i < 10; ++i) s.step();
  BOOST_CHECK_EQUAL(s.sched.reserved(grows), 12);
  s.step();
  BOOST_CHECK_EQUAL(s.sched.reserved(grows), 16);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 16);
  auto full = growing(16, {.high = 1, .low = 1, .step = 8});
  const auto first = ask(full, 3, 5), other = ask(full, 1, 9, 50);
  full.step();
  BOOST_CHECK_EQUAL(full.sched.reserved(first), 8);
  BOOST_CHECK(!full.sched.scheduled(other));  // no room for a step of it
  full.finish();
  BOOST_CHECK(full.sampled(other) == alone(counting(1, 50), 9));
}

BOOST_AUTO_TEST_CASE(the_last_that_came_leaves_for_the_first) {
  auto s = growing(16);
  const auto first = ask(s, 4, 10), second = ask(s, 4, 10, 20), third = ask(s, 8, 8, 50);
  s.step();
  BOOST_CHECK(s.sched.scheduled(first) && s.sched.scheduled(second) && s.sched.scheduled(third));
  const auto plan = s.step();
  BOOST_CHECK(!s.sched.scheduled(third));
  BOOST_REQUIRE_EQUAL(plan.swap_outs.size(), 1u);
  BOOST_CHECK(plan.swap_outs[0].sequence == third);
  BOOST_CHECK(!row_of(plan, first) && s.sched.short_of_memory(first));
  s.end_transfers();
  BOOST_CHECK(row_of(s.step(), first));
  BOOST_CHECK(!s.sched.short_of_memory(first));
  BOOST_CHECK(s.sched.scheduled(second));
  s.finish();
  BOOST_CHECK(s.sampled(first) == alone(counting(4), 10));
  BOOST_CHECK(s.sampled(second) == alone(counting(4, 20), 10));
  BOOST_CHECK(s.sampled(third) == alone(counting(8, 50), 8));
}

BOOST_AUTO_TEST_CASE(the_last_in_order_leaves_itself_when_it_grows) {
  auto s = growing(16, {1, 1, 0}, by_priority(time(100)));
  const auto low = ask(s, 7, 8, 50, 0), high = ask(s, 6, 9, 0, 1);
  s.step();
  s.step();
  s.step();  // the low one needs a third block
  BOOST_CHECK(s.sched.scheduled(high) && !s.sched.scheduled(low));
  BOOST_CHECK_EQUAL(s.sched.preempted(), 1u);
  s.finish();
  BOOST_CHECK(s.sampled(low) == alone(counting(7, 50), 8));
  BOOST_CHECK(s.sampled(high) == alone(counting(6), 9));
}

BOOST_AUTO_TEST_CASE(those_that_rest_leave_before_those_that_run_and_before_their_time) {
  auto s = growing(16);
  const auto idle = prefilled(s, 8);
  const auto first = ask(s, 4, 10), second = ask(s, 4, 2, 20);
  s.step();
  const auto plan = s.step();
  BOOST_REQUIRE_EQUAL(plan.swap_outs.size(), 1u);
  BOOST_CHECK(plan.swap_outs[0].sequence == idle);
  s.finish();
  BOOST_CHECK(s.sampled(first) == alone(counting(4), 10));
  BOOST_CHECK(s.sampled(second) == alone(counting(4, 20), 2));
  check_continues(s, idle, counting(8));
}

BOOST_AUTO_TEST_CASE(slots_are_given_up_to_the_high_mark_and_taken_down_to_the_low_one) {
  auto s = growing(40, {.high = 0.8, .low = 0.4, .step = 0});
  std::vector<sequence_id> asked;
  for (int i = 0; i < 3; ++i) asked.push_back(ask(s, 16, 8, 20 * i));
  s.step();
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 32);
  BOOST_CHECK(!s.sched.scheduled(asked[2]));
  while (s.sched.preempted() == 0) s.step();  // two grew by a block each, and then by one more
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 40);
  s.end_transfers();
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 20);  // a block more than the mark, and only the first is left
  s.finish();
  for (int i = 0; i < 3; ++i)
    BOOST_CHECK(s.sampled(asked[static_cast<std::size_t>(i)]) == alone(counting(16, 20 * i), 8));
}

BOOST_AUTO_TEST_CASE(one_that_is_alone_may_take_all_there_is) {
  auto s = growing(16, {.high = 0.5, .low = 0.5, .step = 0});
  const auto whole = ask(s, 15, 1);
  BOOST_CHECK(row_of(s.step(), whole));
  BOOST_CHECK(s.sampled(whole) == alone(counting(15), 1));
}

BOOST_AUTO_TEST_CASE(one_that_rests_leaves_for_one_that_would_come_above_the_high_mark) {
  auto within = tight(40);
  within.idle_timeout = time(0);
  served s(within, fcfs(), longest_idle(), watermarks({.high = 0.5, .low = 0.5, .step = 0}));
  const auto idle = prefilled(s, 16);
  const auto comes = ask(s, 8, 1, 50);
  s.finish();
  BOOST_CHECK(!s.sched.scheduled(idle));
  BOOST_CHECK(s.sampled(comes) == alone(counting(8, 50), 1));
}

BOOST_AUTO_TEST_CASE(no_sequence_gets_the_memory_that_another_one_waits_for) {
  auto s = growing(16);
  const auto first = ask(s, 4, 10), last = ask(s, 8, 4, 50);
  s.step();
  for (int i = 0; i < 4; ++i) s.step();
  BOOST_REQUIRE(s.sched.short_of_memory(first));
  const auto comes = ask(s, 4, 2, 80);
  s.end_transfers();
  BOOST_CHECK(row_of(s.step(), first));
  s.finish();
  BOOST_CHECK(s.sampled(comes) == alone(counting(4, 80), 2));
  BOOST_CHECK(s.sampled(last) == alone(counting(8, 50), 4));
}

BOOST_AUTO_TEST_CASE(kept_prefixes_go_before_a_sequence_is_preempted) {
  auto within = tight(16);
  within.prefix_caching = true;
  served s(within, fcfs(), longest_idle(), watermarks({1, 1, 0}));
  s.sched.submit({.release_at_end = true}, {counting(8), output::last_logits});
  s.finish();
  BOOST_REQUIRE_EQUAL(s.sched.prefix_cached_bytes(), 8);
  const auto grows = ask(s, 8, 8, 50);
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.preempted(), 0u);
  BOOST_CHECK(s.sampled(grows) == alone(counting(8, 50), 8));
}

BOOST_AUTO_TEST_CASE(rows_in_flight_are_waited_for_by_one_that_grows) {
  auto within = tight(16);
  within.depth = 2;
  served s(within, fcfs(), longest_idle(), watermarks({1, 1, 0}));
  const auto first = ask(s, 4, 10), last = ask(s, 8, 8, 50);
  s.finish();
  BOOST_CHECK(s.sched.preempted() > 0);
  BOOST_CHECK(s.sampled(first) == alone(counting(4), 10));
  BOOST_CHECK(s.sampled(last) == alone(counting(8, 50), 8));
}

}  // namespace cogen::scheduler
