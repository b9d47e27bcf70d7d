#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {

BOOST_AUTO_TEST_CASE(abandoning_returns_to_the_tokens_from_before_the_run) {
  served s(roomy());
  const auto id = s.sched.submit({.max_new_tokens = 8}, {counting(5), output::sample, 9, 2});
  s.finish();
  const std::vector<token> tokens(s.sched.tokens(id).begin(), s.sched.tokens(id).end());
  s.sched.start(id, {{1, 2, 3}, output::sample, 3});
  s.step();
  s.step();
  s.sched.abandon(id);
  BOOST_CHECK(s.sched.idle(id));
  BOOST_CHECK(std::ranges::equal(s.sched.tokens(id), tokens));
  s.sched.start(id, {{}, output::sample, 100});
  s.finish();
  BOOST_CHECK(std::ranges::equal(std::span(s.sched.tokens(id)).subspan(5), alone(counting(5), 8)));
}

BOOST_AUTO_TEST_CASE(rows_in_flight_of_an_abandoned_run_are_wasted_and_cut_away) {
  served s(roomy());
  const auto id = s.sched.submit({}, {counting(5), output::last_logits});
  s.finish();
  s.sched.start(id, {counting(7), output::sample, 3});
  s.launch();
  s.sched.abandon(id);
  BOOST_CHECK(s.absorb().empty());
  s.sched.start(id, {{5}, output::sample, 1, 1});
  const auto step = s.step();
  BOOST_REQUIRE_EQUAL(step.truncations.size(), 1);
  BOOST_CHECK_EQUAL(step.truncations[0].length, 5);
  BOOST_CHECK(s.sampled(id) == alone(counting(6), 1));
}

BOOST_AUTO_TEST_CASE(a_slot_is_free_when_the_plan_that_names_it_is_absorbed) {
  auto within = roomy();
  within.depth = 2;
  served s(within);
  const auto id = s.sched.submit({}, {counting(5), output::sample, 3});
  s.launch();
  s.sched.cancel(id);
  BOOST_CHECK_EQUAL(s.sched.live(), 0);
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 7);
  BOOST_CHECK_GT(s.sched.memory_in_use(), 0);
  BOOST_CHECK(s.absorb().empty());
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 8);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 0);
  const auto step = s.step();
  BOOST_CHECK_EQUAL(step.clears.size(), 1);
  BOOST_CHECK(step.rows.empty());
  BOOST_CHECK_EQUAL(s.runner.cache().bytes(), 0);
  BOOST_CHECK(s.step().empty());
}

BOOST_AUTO_TEST_CASE(a_slot_that_nothing_ran_in_is_free_at_once) {
  served s(roomy());
  const auto parent = s.sched.submit({}, {counting(9), output::last_logits});
  s.finish();
  s.sched.cancel(s.sched.fork(parent));
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 7);
  BOOST_CHECK(s.sched.next().empty());
}

BOOST_AUTO_TEST_CASE(a_cancelled_sequence_leaves_at_once_from_wherever_it_waits) {
  auto within = roomy();
  within.slots = 1;
  within.max_batched_tokens = 2;
  served s(within);
  const auto running = s.sched.submit({}, {counting(5), output::sample, 3});
  const auto waiting = s.sched.submit({}, {counting(5), output::sample, 3});
  s.step();
  s.sched.cancel(waiting);
  s.sched.cancel(running);
  s.sched.verify();
  BOOST_CHECK(s.step().rows.empty());
  BOOST_CHECK(s.events.empty());
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 1);
}

}  // namespace cogen::scheduler
