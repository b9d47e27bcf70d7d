#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {

BOOST_AUTO_TEST_CASE(a_fork_shares_whole_blocks_and_copies_the_rest) {
  served s(roomy());
  const auto parent = prefilled(s, 10);
  const auto memory = s.sched.memory_in_use();
  const auto child = s.sched.fork(parent);
  BOOST_CHECK(std::ranges::equal(s.sched.tokens(child), counting(10)));
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 2 * memory - 8);
  const auto step = s.step();
  BOOST_REQUIRE_EQUAL(step.forks.size(), 1);
  BOOST_CHECK_EQUAL(step.forks[0].shared, 8);
  BOOST_CHECK_EQUAL(step.forks[0].end, 10);
  BOOST_CHECK(step.rows.empty());
  check_continues(s, child, counting(10));
  check_continues(s, parent, counting(10));
}

BOOST_AUTO_TEST_CASE(the_last_token_is_not_shared_and_runs_again_in_the_same_plan) {
  served s(roomy());
  const auto parent = prefilled(s, 8);
  const auto child = s.sched.fork(parent);
  s.sched.start(child, {{}, output::sample, 1, 1});
  s.sched.start(parent, {{}, output::sample, 1, 1});
  const auto step = s.step();
  BOOST_REQUIRE_EQUAL(step.forks.size(), 1);
  BOOST_CHECK_EQUAL(step.forks[0].shared, 4);
  BOOST_CHECK_EQUAL(step.forks[0].end, 7);
  BOOST_CHECK(row_of(step, child));
  BOOST_CHECK(row_of(step, parent));
  BOOST_CHECK(s.sampled(child) == alone(counting(8), 1));
  BOOST_CHECK(s.sampled(parent) == alone(counting(8), 1));
}

BOOST_AUTO_TEST_CASE(a_fork_of_a_fork_takes_the_same_base) {
  served s(roomy());
  const auto parent = prefilled(s, 10);
  const auto child = s.sched.fork(parent);
  s.sched.start(child, {counting(9, 50), output::last_logits});
  s.finish();
  const auto grandchild = s.sched.fork(child);
  const auto step = s.step();
  BOOST_REQUIRE_EQUAL(step.forks.size(), 1);
  BOOST_CHECK_EQUAL(step.forks[0].parent, 0);
  BOOST_CHECK_EQUAL(step.forks[0].shared, 8);
  BOOST_CHECK_EQUAL(step.forks[0].end, 19);
  auto held = counting(10);
  for (const token each : counting(9, 50)) held.push_back(each);
  check_continues(s, grandchild, held);
  check_continues(s, child, held);
}

BOOST_AUTO_TEST_CASE(forks_of_forks_before_any_step_do_not_depend_on_each_other) {
  served s(roomy());
  std::vector<sequence_id> ids{prefilled(s, 10)};
  for (int i = 0; i < 4; ++i) ids.push_back(s.sched.fork(ids.back()));
  s.sched.cancel(ids[2]);
  const auto step = s.step();
  BOOST_CHECK_EQUAL(step.forks.size(), 3);
  for (const auto& each : step.forks) BOOST_CHECK_EQUAL(each.source, 0);
  check_continues(s, ids[4], counting(10));
}

BOOST_AUTO_TEST_CASE(a_fork_takes_the_uncached_tokens_along) {
  served s(roomy());
  const auto parent = s.sched.submit({}, {counting(10), output::sample, 1, 1});
  s.finish();
  const auto child = s.sched.fork(parent);
  s.sched.start(child, {{}, output::sample, 2, 2});
  s.finish();
  auto expected = alone(counting(10), 3);
  expected.erase(expected.begin());
  BOOST_CHECK(s.sampled(child) == expected);
  const auto of_nothing = s.sched.fork(s.sched.submit({}));
  BOOST_CHECK(s.sched.tokens(of_nothing).empty());
}

BOOST_AUTO_TEST_CASE(a_base_stays_until_its_users_are_gone) {
  served s(roomy());
  const auto parent = prefilled(s, 10);
  const auto child = s.sched.fork(parent);
  s.step();
  s.sched.cancel(parent);
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 6);
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 6);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 256 - 8 + 8);
  BOOST_CHECK_EQUAL(s.runner.cache().length(0), 8);
  check_continues(s, child, counting(10));
  s.sched.cancel(child);
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 8);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 0);
  BOOST_CHECK_EQUAL(s.runner.cache().bytes(), 0);
}

BOOST_AUTO_TEST_CASE(a_parent_cancelled_before_the_copies_keeps_what_they_read) {
  served s(roomy());
  const auto parent = prefilled(s, 3);
  const auto child = s.sched.fork(parent);
  s.sched.cancel(parent);
  check_continues(s, child, counting(3));
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 7);
}

BOOST_AUTO_TEST_CASE(a_parent_that_goes_on_below_what_is_shared_moves) {
  served s(roomy());
  const auto parent = prefilled(s, 14);
  const auto child = s.sched.fork(parent);
  s.step();
  s.sched.truncate(parent, 6);
  s.sched.start(parent, {{40, 41}, output::last_logits});
  const auto step = s.step();
  BOOST_CHECK(row_of(step, parent)->slot != 0);
  BOOST_REQUIRE_EQUAL(step.forks.size(), 1);
  BOOST_CHECK_EQUAL(step.forks[0].shared, 4);
  auto held = counting(6);
  held.push_back(40);
  held.push_back(41);
  check_continues(s, parent, held);
  check_continues(s, child, counting(14));
}

BOOST_AUTO_TEST_CASE(a_parent_that_cannot_move_waits_and_computes_again) {
  auto within = roomy();
  within.slots = 2;
  served s(within);
  const auto parent = prefilled(s, 14);
  const auto child = s.sched.fork(parent);
  s.step();
  s.sched.truncate(parent, 6);
  s.sched.start(parent, {{40}, output::sample, 2, 2});
  s.finish();
  BOOST_CHECK(s.sched.phase_of(parent) == phase::waiting);
  check_continues(s, child, counting(14));
  s.sched.cancel(child);
  s.finish();
  auto held = counting(6);
  held.push_back(40);
  BOOST_CHECK(s.sampled(parent) == alone(held, 2));
}

BOOST_AUTO_TEST_CASE(a_parent_cut_and_grown_again_before_the_copies_waits_for_them) {
  served s(roomy());
  const auto parent = prefilled(s, 7);
  const auto child = s.sched.fork(parent);
  s.sched.truncate(parent, 5);
  s.sched.start(parent, {{40}, output::sample, 1, 1});
  const auto step = s.step();
  BOOST_CHECK(!row_of(step, parent));
  s.finish();
  auto held = counting(5);
  held.push_back(40);
  BOOST_CHECK(s.sampled(parent) == alone(held, 1));
  check_continues(s, child, counting(7));
}

BOOST_AUTO_TEST_CASE(a_child_cut_into_what_it_shares_shares_less) {
  served s(roomy());
  const auto parent = prefilled(s, 14);
  const auto child = s.sched.fork(parent);
  s.step();
  const auto memory = s.sched.memory_in_use();
  s.sched.truncate(child, 6);
  check_continues(s, child, counting(6));
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), memory + 8);
  const auto unstarted = s.sched.fork(parent);
  s.sched.truncate(unstarted, 6);
  check_continues(s, unstarted, counting(6));
  check_continues(s, parent, counting(14));
}

BOOST_AUTO_TEST_CASE(a_child_for_whose_blocks_memory_is_short_waits_and_computes_again) {
  for (const bool stepped : {false, true}) {
    auto within = roomy();
    within.memory_bytes = 30;
    served s(within);
    const auto parent = s.sched.submit({.max_sequence_length = 20}, {counting(14), output::last_logits});
    s.finish();
    const auto child = s.sched.fork(parent);
    if (stepped) s.step();
    BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 28);
    s.sched.truncate(child, 6);
    s.sched.start(child, {{}, output::sample, 3, 3});
    s.finish();
    BOOST_CHECK(s.sched.phase_of(child) == phase::waiting);
    BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 20);
    s.sched.cancel(parent);
    s.finish();
    BOOST_CHECK(s.sampled(child) == alone(counting(6), 3));
  }
}

BOOST_AUTO_TEST_CASE(those_that_can_be_scheduled_do_not_keep_a_fork_from_a_slot) {
  served s(roomy());
  const auto parent = prefilled(s, 10);
  s.sched.submit({}, {counting(5), output::last_logits});
  s.sched.fork(parent);
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 5);
  BOOST_CHECK_EQUAL(s.step().forks.size(), 1);
}

BOOST_AUTO_TEST_CASE(a_fork_without_a_slot_computes_its_tokens_when_its_turn_comes) {
  auto within = roomy();
  within.slots = 1;
  served s(within);
  const auto parent = prefilled(s, 10);
  const auto child = s.sched.fork(parent);
  s.sched.start(child, {{}, output::sample, 3, 3});
  s.finish();
  BOOST_CHECK(s.sched.phase_of(child) == phase::waiting);
  s.sched.cancel(parent);
  s.finish();
  BOOST_CHECK(s.sampled(child) == alone(counting(10), 3));
}

BOOST_AUTO_TEST_CASE(a_fork_has_the_options_and_the_count_of_its_parent) {
  served s(roomy());
  const auto parent = s.sched.submit({.max_new_tokens = 5}, {counting(3), output::sample, 9, 3});
  s.finish();
  const auto child = s.sched.fork(parent);
  s.sched.start(child, {{}, output::sample, 9});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(child).size(), 2);
  BOOST_CHECK(s.events.back().reason == finish::length);
}

}  // namespace cogen::scheduler
