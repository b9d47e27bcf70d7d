// Each change of a sequence's slot is given once, and nothing else is.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

void check_next(served& s, sequence_id id, int slot, bool preempted) {
  const auto change = s.sched.next_slot_change();
  BOOST_REQUIRE(change);
  BOOST_CHECK(change->sequence == id);
  BOOST_TEST(change->slot == slot);
  BOOST_TEST(change->preempted == preempted);
}

void check_none(served& s) { BOOST_CHECK(!s.sched.next_slot_change()); }

}  // namespace

BOOST_AUTO_TEST_SUITE(slot_changes)

BOOST_AUTO_TEST_CASE(a_slot_is_news_once) {
  served s(crowded(2));
  const auto id = s.sched.submit({}, {counting(5), output::sample, 3});
  check_none(s);
  s.step();
  check_next(s, id, s.sched.slot_of(id), false);
  s.step();
  check_none(s);
}

BOOST_AUTO_TEST_CASE(the_preempted_come_before_those_that_get_their_slots) {
  served s(crowded(1));
  const auto idle = prefilled(s, 9);
  check_next(s, idle, 0, false);
  const auto waits = s.sched.submit({}, {counting(5, 20), output::sample, 2});
  s.step();
  s.now += time(10);
  s.step();
  check_next(s, idle, -1, true);
  check_next(s, waits, 0, false);
  check_none(s);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_lost_its_slot_and_has_it_again_is_one_change) {
  served s(crowded(1));
  const auto id = prefilled(s, 9);
  check_next(s, id, 0, false);
  s.sched.suspend(id);
  s.sched.start(id, {{}, output::sample, 1, 1});
  s.finish();
  check_next(s, id, 0, true);
  check_none(s);
}

BOOST_AUTO_TEST_CASE(a_sequence_cut_to_nothing_loses_its_slot_and_is_not_preempted) {
  served s(crowded(1));
  const auto id = prefilled(s, 9);
  check_next(s, id, 0, false);
  s.sched.truncate(id, 0);
  check_next(s, id, -1, false);
}

BOOST_AUTO_TEST_CASE(a_fork_has_its_slot_at_once) {
  served s(crowded(2));
  const auto parent = prefilled(s, 9);
  check_next(s, parent, 0, false);
  const auto child = s.sched.fork(parent);
  check_next(s, child, s.sched.slot_of(child), false);
}

BOOST_AUTO_TEST_CASE(nothing_is_said_of_those_that_have_gone) {
  served s(crowded(2));
  const auto id = prefilled(s, 9);
  s.sched.cancel(id);
  check_none(s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
