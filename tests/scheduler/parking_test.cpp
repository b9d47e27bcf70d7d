// Who rests in a slot that another one waits for gives it up, and loses nothing by that.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

/// Slots for so many, and patience for 10.
limits crowded(int slots) {
  auto within = roomy();
  within.slots = slots;
  within.patience = time(10);
  return within;
}

sequence_id submit_stream(served& s, int first_token, int credits) {
  return s.machine.submit({}, {counting(5, first_token), output::sample, credits});
}

/// A step after so much time.
plan step_after(served& s, int more) {
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
  BOOST_CHECK(s.machine.seated(idle));
  BOOST_CHECK(row_of(step_after(s, 1), waits));
  BOOST_CHECK(!s.machine.seated(idle));
  s.machine.cancel(waits);
  check_continues(s, idle, counting(9));
}

BOOST_AUTO_TEST_CASE(nobody_is_parked_for_nobody) {
  served s(crowded(1));
  const auto idle = prefilled(s, 9);
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(step_after(s, 1000).empty());
  BOOST_CHECK(s.machine.seated(idle));
  BOOST_CHECK(!s.machine.wake());
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
  BOOST_CHECK(!s.machine.seated(slow));
  s.machine.grant(slow, 4);
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
  BOOST_CHECK(s.machine.phase_of(waits) == phase::waiting);
}

BOOST_AUTO_TEST_CASE(who_was_asked_for_more_has_not_rested) {
  served s(crowded(1));
  const auto busy = prefilled(s, 5);
  submit_stream(s, 20, 1);
  s.step();
  s.now += time(9);
  s.machine.start(busy, {{7}, output::last_logits});
  BOOST_CHECK(row_of(s.step(), busy));
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(step_after(s, 9).empty());
  BOOST_CHECK(s.machine.seated(busy));
  step_after(s, 1);
  BOOST_CHECK(!s.machine.seated(busy));
}

BOOST_AUTO_TEST_CASE(the_one_that_has_rested_longest_goes_and_no_other) {
  served s(crowded(3));
  const auto first = prefilled(s, 5);
  s.step();
  s.now += time(1);
  const auto second = prefilled(s, 5);
  const auto third = prefilled(s, 5);
  s.machine.start(first, {{1}, output::last_logits});
  s.finish();
  submit_stream(s, 20, 1);
  step_after(s, 100);
  BOOST_CHECK(!s.machine.seated(second));
  BOOST_CHECK(s.machine.seated(first) && s.machine.seated(third));
}

BOOST_AUTO_TEST_CASE(as_many_go_as_the_memory_of_one_takes) {
  auto within = crowded(4);
  within.memory_bytes = 40;
  served s(within);
  const auto small = [&] {
    const auto id = s.machine.submit({.max_length = 8}, {counting(4), output::last_logits});
    s.finish();
    return id;
  };
  const sequence_id ids[] = {small(), small(), small()};
  const auto large = s.machine.submit({.max_length = 24}, {counting(4), output::last_logits});
  s.step();
  step_after(s, 10);
  BOOST_CHECK(s.machine.seated(large));
  BOOST_CHECK(!s.machine.seated(ids[0]));
  BOOST_CHECK(s.machine.seated(ids[1]) && s.machine.seated(ids[2]));
}

BOOST_AUTO_TEST_CASE(what_others_share_is_kept) {
  served s(crowded(3));
  const auto parent = prefilled(s, 9);
  const auto child = s.machine.fork(parent);
  s.machine.start(child, {{1}, output::last_logits});
  s.finish();
  const auto idle = prefilled(s, 5);
  s.step();
  submit_stream(s, 20, 1);
  step_after(s, 10);
  BOOST_CHECK(s.machine.seated(parent));
  BOOST_CHECK(!s.machine.seated(child));
  BOOST_CHECK(s.machine.seated(idle));
}

BOOST_AUTO_TEST_CASE(who_is_parked_by_its_owner_leaves_at_once) {
  served s(crowded(2));
  const auto first = prefilled(s, 5);
  const auto second = prefilled(s, 6);
  s.machine.park(second);
  BOOST_CHECK(!s.machine.seated(second));
  s.step();
  BOOST_CHECK_EQUAL(s.machine.free_slots(), 1);
  BOOST_CHECK(s.machine.seated(first));
  check_continues(s, second, counting(6));
}

BOOST_AUTO_TEST_CASE(only_who_is_idle_in_a_slot_can_be_parked_by_its_owner) {
  served s(crowded(2));
  s.machine.park(sequence_id{99});
  s.machine.park(s.machine.submit({}));
  const auto runs = submit_stream(s, 1, 5);
  s.step();
  s.machine.park(runs);
  BOOST_CHECK(s.machine.seated(runs));
  BOOST_CHECK_EQUAL(s.machine.parked(), 0u);
}

BOOST_AUTO_TEST_CASE(what_others_share_of_one_that_is_parked_stays) {
  served s(crowded(2));
  const auto parent = prefilled(s, 9);
  const auto child = s.machine.fork(parent);
  s.machine.park(parent);
  BOOST_CHECK(!s.machine.seated(parent));
  check_continues(s, child, counting(9));
  s.machine.cancel(child);
  check_continues(s, parent, counting(9));
}

BOOST_AUTO_TEST_CASE(it_tells_when_to_look_again) {
  served s(crowded(1));
  s.now = time(100);
  prefilled(s, 5);
  BOOST_CHECK(!s.machine.wake());
  const auto waits = submit_stream(s, 20, 1);
  BOOST_CHECK(s.step().empty());
  BOOST_REQUIRE(s.machine.wake());
  s.now = *s.machine.wake();
  BOOST_CHECK_EQUAL(s.now.count(), 110);
  BOOST_CHECK(row_of(s.step(), waits));
  BOOST_CHECK(!s.machine.wake());
}

BOOST_AUTO_TEST_CASE(with_all_patience_nobody_is_parked_but_by_its_owner) {
  auto within = crowded(1);
  within.patience = time::max();
  served s(within);
  const auto idle = prefilled(s, 5);
  const auto waits = submit_stream(s, 20, 1);
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(step_after(s, 1'000'000'000).empty());
  BOOST_CHECK(!s.machine.wake());
  s.machine.park(idle);
  BOOST_CHECK(row_of(s.step(), waits));
}

}  // namespace cogen::scheduler
