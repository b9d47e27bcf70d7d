// An idle sequence is preempted when another one waits for its slot, and loses nothing.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

sequence_id submit_stream(served& s, int first_token, int credits) {
  return s.sched.submit({}, {counting(5, first_token), output::sample, credits});
}

/// A step after so much time.
step step_after(served& s, int more) {
  s.now += time(more);
  return s.step();
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_idle_sequence_gives_its_slot_up_after_a_while) {
  served s(crowded(1));
  const auto idle = prefilled(s, 9);
  const auto waits = submit_stream(s, 20, 2);
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(step_after(s, 9).empty());
  BOOST_CHECK(s.sched.scheduled(idle));
  BOOST_CHECK(row_of(step_after(s, 1), waits));
  BOOST_CHECK(!s.sched.scheduled(idle));
  s.sched.cancel(waits);
  check_continues(s, idle, counting(9));
}

BOOST_AUTO_TEST_CASE(no_sequence_is_preempted_without_need) {
  served s(crowded(1));
  const auto idle = prefilled(s, 9);
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(step_after(s, 1000).empty());
  BOOST_CHECK(s.sched.scheduled(idle));
  BOOST_CHECK(!s.sched.wake());
}

BOOST_AUTO_TEST_CASE(a_slow_reader_gives_way_and_comes_back) {
  served s(crowded(1));
  const auto slow = submit_stream(s, 1, 2);
  s.finish();
  const auto other = submit_stream(s, 20, 3);
  s.step();
  step_after(s, 10);
  s.finish();
  BOOST_CHECK(s.sampled(other) == alone(counting(5, 20), 3));
  BOOST_CHECK(!s.sched.scheduled(slow));
  s.sched.grant(slow, 4);
  s.step();
  step_after(s, 10);
  s.finish();
  BOOST_CHECK(s.sampled(slow) == alone(counting(5, 1), 6));
}

BOOST_AUTO_TEST_CASE(who_runs_keeps_its_slot) {
  served s(crowded(1));
  const auto runs = submit_stream(s, 1, 50);
  s.step();
  const auto waits = submit_stream(s, 20, 1);
  for (int i = 0; i < 20; ++i) BOOST_CHECK(row_of(step_after(s, 100), runs));
  BOOST_CHECK(s.sched.phase_of(waits) == phase::waiting);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_was_extended_is_not_idle) {
  served s(crowded(1));
  const auto busy = prefilled(s, 5);
  submit_stream(s, 20, 1);
  s.step();
  s.now += time(9);
  s.sched.start(busy, {{7}, output::last_logits});
  BOOST_CHECK(row_of(s.step(), busy));
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(step_after(s, 9).empty());
  BOOST_CHECK(s.sched.scheduled(busy));
  step_after(s, 1);
  BOOST_CHECK(!s.sched.scheduled(busy));
}

BOOST_AUTO_TEST_CASE(only_the_longest_idle_one_is_preempted) {
  served s(crowded(3));
  const auto first = prefilled(s, 5);
  s.step();
  s.now += time(1);
  const auto second = prefilled(s, 5);
  const auto third = prefilled(s, 5);
  s.sched.start(first, {{1}, output::last_logits});
  s.finish();
  submit_stream(s, 20, 1);
  step_after(s, 100);
  BOOST_CHECK(!s.sched.scheduled(second));
  BOOST_CHECK(s.sched.scheduled(first) && s.sched.scheduled(third));
}

BOOST_AUTO_TEST_CASE(as_many_go_as_the_memory_of_one_takes) {
  auto within = crowded(4);
  within.memory_bytes = 40;
  served s(within);
  const auto small = [&] {
    const auto id = s.sched.submit({.max_sequence_length = 8}, {counting(4), output::last_logits});
    s.finish();
    return id;
  };
  const sequence_id ids[] = {small(), small(), small()};
  const auto large = s.sched.submit({.max_sequence_length = 24}, {counting(4), output::last_logits});
  s.step();
  step_after(s, 10);
  BOOST_CHECK(s.sched.scheduled(large));
  BOOST_CHECK(!s.sched.scheduled(ids[0]));
  BOOST_CHECK(s.sched.scheduled(ids[1]) && s.sched.scheduled(ids[2]));
}

BOOST_AUTO_TEST_CASE(what_others_share_is_kept) {
  served s(crowded(3));
  const auto parent = prefilled(s, 9);
  const auto child = s.sched.fork(parent);
  s.sched.start(child, {{1}, output::last_logits});
  s.finish();
  const auto idle = prefilled(s, 5);
  s.step();
  submit_stream(s, 20, 1);
  step_after(s, 10);
  BOOST_CHECK(s.sched.scheduled(parent));
  BOOST_CHECK(!s.sched.scheduled(child));
  BOOST_CHECK(s.sched.scheduled(idle));
}

BOOST_AUTO_TEST_CASE(who_is_preempted_by_its_owner_leaves_at_once) {
  served s(crowded(2));
  const auto first = prefilled(s, 5);
  const auto second = prefilled(s, 6);
  s.sched.suspend(second);
  BOOST_CHECK(!s.sched.scheduled(second));
  s.step();
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 1);
  BOOST_CHECK(s.sched.scheduled(first));
  check_continues(s, second, counting(6));
}

BOOST_AUTO_TEST_CASE(only_who_is_idle_in_a_slot_can_be_preempted_by_its_owner) {
  served s(crowded(2));
  s.sched.suspend(sequence_id{99});
  s.sched.suspend(s.sched.submit({}));
  const auto runs = submit_stream(s, 1, 5);
  s.step();
  s.sched.suspend(runs);
  BOOST_CHECK(s.sched.scheduled(runs));
  BOOST_CHECK_EQUAL(s.sched.preempted(), 0u);
}

BOOST_AUTO_TEST_CASE(what_others_share_of_one_that_is_preempted_stays) {
  served s(crowded(2));
  const auto parent = prefilled(s, 9);
  const auto child = s.sched.fork(parent);
  s.sched.suspend(parent);
  BOOST_CHECK(!s.sched.scheduled(parent));
  check_continues(s, child, counting(9));
  s.sched.cancel(child);
  check_continues(s, parent, counting(9));
}

BOOST_AUTO_TEST_CASE(it_tells_when_to_look_again) {
  served s(crowded(1));
  s.now = time(100);
  prefilled(s, 5);
  BOOST_CHECK(!s.sched.wake());
  const auto waits = submit_stream(s, 20, 1);
  BOOST_CHECK(s.step().empty());
  BOOST_REQUIRE(s.sched.wake());
  s.now = *s.sched.wake();
  BOOST_CHECK_EQUAL(s.now.count(), 110);
  BOOST_CHECK(row_of(s.step(), waits));
  BOOST_CHECK(!s.sched.wake());
}

BOOST_AUTO_TEST_CASE(without_an_idle_timeout_only_owners_preempt) {
  auto within = crowded(1);
  within.idle_timeout = time::max();
  served s(within);
  const auto idle = prefilled(s, 5);
  const auto waits = submit_stream(s, 20, 1);
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(step_after(s, 1'000'000'000).empty());
  BOOST_CHECK(!s.sched.wake());
  s.sched.suspend(idle);
  BOOST_CHECK(row_of(s.step(), waits));
}

}  // namespace cogen::scheduler
