#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
BOOST_AUTO_TEST_CASE(those_without_a_slot_wait_in_order) {
  auto within = roomy();
  within.slots = 2;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 4; ++i)
    ids.push_back(s.machine.submit({.max_new_tokens = 1 + i, .release_at_end = true}, {{i}, output::sample, plenty}));
  auto step = s.step();
  BOOST_CHECK_EQUAL(step.rows.size(), 2);
  BOOST_CHECK_EQUAL(s.machine.waiting(), 2);
  BOOST_CHECK(s.machine.phase_of(ids[2]) == phase::waiting);
  step = s.step();
  BOOST_CHECK(row_of(step, ids[2]));
  BOOST_CHECK(!row_of(step, ids[3]));
  s.finish();
  BOOST_CHECK_EQUAL(s.machine.live(), 0);
  BOOST_CHECK_EQUAL(s.machine.free_slots(), 2);
  BOOST_CHECK_EQUAL(s.machine.memory_in_use(), 0);
  BOOST_CHECK_EQUAL(s.runner.cache().bytes(), 0);
}

BOOST_AUTO_TEST_CASE(memory_is_set_aside_for_all_that_a_sequence_may_hold) {
  auto within = roomy();
  within.usage = {10, 100, 4};
  within.memory_bytes = 1000;
  served s(within);
  s.machine.submit({.max_new_tokens = 6, .max_length = 16, .release_at_end = true},
                   {counting(3), output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.machine.memory_in_use(), 310);
  s.machine.submit({.max_new_tokens = 6, .max_length = 16}, {counting(3), output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.machine.memory_in_use(), 310 + 410);
  s.machine.submit({.max_new_tokens = 60, .max_length = 8, .release_at_end = true},
                   {counting(3), output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.machine.memory_in_use(), 310 + 410 + 210);
  s.machine.submit({.max_length = 1}, {{1}, output::sample, plenty});
  s.step();
  BOOST_CHECK_EQUAL(s.machine.waiting(), 1);
}

BOOST_AUTO_TEST_CASE(the_head_of_the_queue_is_not_overtaken_by_one_that_needs_less) {
  auto within = roomy();
  within.memory_bytes = 100;
  served s(within);
  const auto first = s.machine.submit({.max_length = 60}, {{1}, output::sample, plenty});
  const auto big = s.machine.submit({.max_length = 60}, {{2}, output::sample, plenty});
  const auto small = s.machine.submit({.max_length = 4}, {{3}, output::sample, plenty});
  for (int i = 0; i < 10; ++i) BOOST_CHECK_EQUAL(s.step().rows.size(), 1);
  s.machine.cancel(first);
  const auto step = s.step();
  BOOST_CHECK(row_of(step, big));
  BOOST_CHECK(row_of(step, small));
}

BOOST_AUTO_TEST_CASE(a_fork_does_not_overtake_those_that_wait) {
  auto within = roomy();
  within.memory_bytes = 100;
  served s(within);
  const auto parent = s.machine.submit({.max_length = 40}, {counting(8), output::last_logits});
  s.step();
  const auto big = s.machine.submit({.max_length = 80}, {{2}, output::last_logits});
  const auto child = s.machine.fork(parent);
  s.step();
  BOOST_CHECK_EQUAL(s.machine.memory_in_use(), 40);
  s.machine.start(child, {{9}, output::last_logits});
  BOOST_CHECK(s.machine.phase_of(child) == phase::waiting);
  s.machine.cancel(parent);
  BOOST_CHECK(row_of(s.step(), big));
  BOOST_CHECK(s.machine.phase_of(child) == phase::waiting);
  s.machine.cancel(big);
  BOOST_CHECK_EQUAL(row_of(s.step(), child)->count, 9);
}

BOOST_AUTO_TEST_CASE(a_sequence_without_a_run_or_without_credits_takes_no_slot) {
  served s(roomy());
  const auto fresh = s.machine.submit({});
  const auto poor = s.machine.submit({}, {{1}, output::sample, 0});
  BOOST_CHECK(s.machine.next().empty());
  BOOST_CHECK_EQUAL(s.machine.waiting(), 0);
  BOOST_CHECK_EQUAL(s.machine.live(), 2);
  BOOST_CHECK(s.machine.idle(fresh));
  BOOST_CHECK(!s.machine.idle(poor));
  s.machine.grant(poor, 1);
  BOOST_CHECK(row_of(s.step(), poor));
  BOOST_CHECK_EQUAL(s.machine.free_slots(), 7);
}

BOOST_AUTO_TEST_CASE(a_sequence_has_the_slot_that_its_rows_name) {
  auto within = roomy();
  within.slots = 2;
  within.step_tokens = 4;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(s.machine.submit({}, {counting(4), output::sample, 1}));
  for (const auto each : ids) BOOST_CHECK_EQUAL(s.machine.slot_of(each), -1);
  BOOST_CHECK_EQUAL(row_of(s.step(), ids[0])->slot, s.machine.slot_of(ids[0]));
  const int second = s.machine.slot_of(ids[1]);  // it has one, and no row yet
  BOOST_CHECK(second >= 0 && second != s.machine.slot_of(ids[0]));
  BOOST_CHECK_EQUAL(s.machine.slot_of(ids[2]), -1);
  BOOST_CHECK_EQUAL(row_of(s.step(), ids[1])->slot, second);
  s.machine.cancel(ids[1]);
  BOOST_CHECK_EQUAL(s.machine.slot_of(ids[1]), -1);
}

}  // namespace cogen::scheduler
