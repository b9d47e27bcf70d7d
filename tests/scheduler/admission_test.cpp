#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
BOOST_AUTO_TEST_CASE(those_without_a_slot_wait_in_order) {
  auto within = roomy();
  within.slots = 2;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 4; ++i)
    ids.push_back(s.sched.submit({.max_new_tokens = 1 + i, .release_at_end = true}, {{i}, output::sample, plenty}));
  auto step = s.step();
  BOOST_CHECK_EQUAL(step.rows.size(), 2);
  BOOST_CHECK_EQUAL(s.sched.waiting(), 2);
  BOOST_CHECK(s.sched.phase_of(ids[2]) == phase::waiting);
  step = s.step();
  BOOST_CHECK(row_of(step, ids[2]));
  BOOST_CHECK(!row_of(step, ids[3]));
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.live(), 0);
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 2);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 0);
  BOOST_CHECK_EQUAL(s.runner.cache().bytes(), 0);
}

BOOST_AUTO_TEST_CASE(memory_is_set_aside_for_all_that_a_sequence_may_hold) {
  auto within = roomy();
  within.usage = {10, 100, 4};
  within.memory_bytes = 1000;
  served s(within);
  s.sched.submit({.max_new_tokens = 6, .max_sequence_length = 16, .release_at_end = true},
                 {counting(3), output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 310);
  s.sched.submit({.max_new_tokens = 6, .max_sequence_length = 16}, {counting(3), output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 310 + 410);
  s.sched.submit({.max_new_tokens = 60, .max_sequence_length = 8, .release_at_end = true},
                 {counting(3), output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 310 + 410 + 210);
  s.sched.submit({.max_sequence_length = 1}, {{1}, output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.sched.waiting(), 1);
}

BOOST_AUTO_TEST_CASE(the_head_of_the_queue_is_not_overtaken_by_one_that_needs_less) {
  auto within = roomy();
  within.memory_bytes = 100;
  served s(within);
  const auto first = s.sched.submit({.max_sequence_length = 60}, {{1}, output::sample, plenty});
  const auto big = s.sched.submit({.max_sequence_length = 60}, {{2}, output::sample, plenty});
  const auto small = s.sched.submit({.max_sequence_length = 4}, {{3}, output::sample, plenty});
  for (int i = 0; i < 10; ++i) BOOST_CHECK_EQUAL(s.step().rows.size(), 1);
  s.sched.cancel(first);
  const auto step = s.step();
  BOOST_CHECK(row_of(step, big));
  BOOST_CHECK(row_of(step, small));
}

BOOST_AUTO_TEST_CASE(a_fork_does_not_overtake_those_that_wait) {
  auto within = roomy();
  within.memory_bytes = 100;
  served s(within);
  const auto parent = s.sched.submit({.max_sequence_length = 40}, {counting(8), output::last_logits});
  s.step();
  const auto big = s.sched.submit({.max_sequence_length = 80}, {{2}, output::last_logits});
  const auto child = s.sched.fork(parent);
  s.step();
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 40);
  s.sched.start(child, {{9}, output::last_logits});
  BOOST_CHECK(s.sched.phase_of(child) == phase::waiting);
  s.sched.cancel(parent);
  BOOST_CHECK(row_of(s.step(), big));
  BOOST_CHECK(s.sched.phase_of(child) == phase::waiting);
  s.sched.cancel(big);
  BOOST_CHECK_EQUAL(row_of(s.step(), child)->count, 9);
}

BOOST_AUTO_TEST_CASE(a_sequence_without_a_run_or_without_credits_takes_no_slot) {
  served s(roomy());
  const auto fresh = s.sched.submit({});
  const auto poor = s.sched.submit({}, {{1}, output::sample, 0});
  BOOST_CHECK(s.sched.next().empty());
  BOOST_CHECK_EQUAL(s.sched.waiting(), 0);
  BOOST_CHECK_EQUAL(s.sched.live(), 2);
  BOOST_CHECK(s.sched.idle(fresh));
  BOOST_CHECK(!s.sched.idle(poor));
  s.sched.grant(poor, 1);
  BOOST_CHECK(row_of(s.step(), poor));
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 7);
}

BOOST_AUTO_TEST_CASE(a_sequence_has_the_slot_that_its_rows_name) {
  auto within = roomy();
  within.slots = 2;
  within.max_batched_tokens = 4;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(s.sched.submit({}, {counting(4), output::sample, 1}));
  for (const auto each : ids) BOOST_CHECK_EQUAL(s.sched.slot_of(each), -1);
  BOOST_CHECK_EQUAL(row_of(s.step(), ids[0])->slot, s.sched.slot_of(ids[0]));
  const int second = s.sched.slot_of(ids[1]);  // it has one, and no row yet
  BOOST_CHECK(second >= 0 && second != s.sched.slot_of(ids[0]));
  BOOST_CHECK_EQUAL(s.sched.slot_of(ids[2]), -1);
  BOOST_CHECK_EQUAL(row_of(s.step(), ids[1])->slot, second);
  s.sched.cancel(ids[1]);
  BOOST_CHECK_EQUAL(s.sched.slot_of(ids[1]), -1);
}

}  // namespace cogen::scheduler
