// Each transition of a sequence is returned once, and nothing else is.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

void check_next(served& s, sequence_id id, status previous, status current, int slot) {
  const auto next = s.sched.next_transition();
  BOOST_REQUIRE(next);
  BOOST_CHECK(next->sequence == id);
  BOOST_CHECK(next->previous == previous);
  BOOST_CHECK(next->current == current);
  BOOST_TEST(next->slot == slot);
}

void check_scheduled(served& s, sequence_id id, int slot) { check_next(s, id, status::waiting, status::running, slot); }

void check_preempted(served& s, sequence_id id, int slot) {
  check_next(s, id, status::running, status::preempted, slot);
}

void check_none(served& s) { BOOST_CHECK(!s.sched.next_transition()); }

}  // namespace

BOOST_AUTO_TEST_SUITE(transitions)

BOOST_AUTO_TEST_CASE(a_slot_is_reported_once) {
  served s(crowded(2));
  const auto id = s.sched.submit({}, {counting(5), output::sample, 3});
  check_none(s);
  s.step();
  check_scheduled(s, id, s.sched.slot_of(id));
  s.step();
  check_none(s);
}

BOOST_AUTO_TEST_CASE(the_preempted_come_before_those_that_get_their_slots) {
  served s(crowded(1));
  const auto idle = prefilled(s, 9);
  check_scheduled(s, idle, 0);
  const auto waits = s.sched.submit({}, {counting(5, 20), output::sample, 2});
  s.step();
  s.now += time(10);
  s.step();
  check_preempted(s, idle, 0);
  check_scheduled(s, waits, 0);
  check_none(s);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_lost_its_slot_and_has_it_again_is_preempted_and_resumed) {
  served s(crowded(1));
  const auto id = prefilled(s, 9);
  check_scheduled(s, id, 0);
  s.sched.suspend(id);
  s.sched.start(id, {{}, output::sample, 1, 1});
  s.finish();
  check_preempted(s, id, 0);
  check_next(s, id, status::preempted, status::running, 0);
  check_none(s);
}

BOOST_AUTO_TEST_CASE(a_sequence_cut_to_nothing_loses_its_slot_and_is_not_preempted) {
  served s(crowded(1));
  const auto id = prefilled(s, 9);
  check_scheduled(s, id, 0);
  s.sched.truncate(id, 0);
  check_none(s);
}

BOOST_AUTO_TEST_CASE(a_fork_has_its_slot_at_once) {
  served s(crowded(2));
  const auto parent = prefilled(s, 9);
  check_scheduled(s, parent, 0);
  const auto child = s.sched.fork(parent);
  check_scheduled(s, child, s.sched.slot_of(child));
}

BOOST_AUTO_TEST_CASE(nothing_is_reported_of_sequences_that_have_gone) {
  served s(crowded(2));
  const auto id = prefilled(s, 9);
  s.sched.cancel(id);
  check_none(s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
