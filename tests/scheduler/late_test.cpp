// Rows whose samples come later: their runs wait, and all others go on.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(late)
namespace {

/// Runs a step in which the row of `id` is late, and returns what it sampled.
late_sample late_step(served& s, sequence_id id) {
  auto plan = s.sched.next(s.now);
  s.runner.run(plan);
  late_sample comes{id, plan.number};
  for (auto& row : plan.rows) {
    if (row.sequence != id) continue;
    comes.sampled = std::exchange(plan.sampled_of(row), -1);
    row.late = true;
  }
  s.sched.absorb(plan);
  s.record(plan);
  return comes;
}

void absorb(served& s, const late_sample& comes) { s.record(comes, s.sched.absorb(comes)); }

}  // namespace

BOOST_AUTO_TEST_CASE(others_go_on_and_the_sequence_does_when_its_token_comes) {
  served s(roomy());
  const auto slow = s.sched.submit({}, {counting(5), output::sample, 4});
  const auto other = s.sched.submit({}, {counting(7), output::sample, 9});
  const auto comes = late_step(s, slow);
  BOOST_CHECK(s.sched.phase_of(slow) == phase::paused);
  for (int i = 0; i < 3; ++i) BOOST_CHECK(!row_of(s.step(), slow));
  BOOST_TEST(s.sampled(slow).empty());
  BOOST_TEST(s.sampled(other) == alone(counting(7), 4), boost::test_tools::per_element());
  absorb(s, comes);
  BOOST_CHECK(s.sched.phase_of(slow) == phase::decoding);
  s.finish();
  BOOST_TEST(s.sampled(slow) == alone(counting(5), 4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drafts_of_the_row_are_dropped) {
  auto within = roomy();
  within.max_draft_tokens = 4;
  served s(within);
  const auto id = s.sched.submit({}, {counting(5), output::sample, 9});
  s.step();
  s.sched.propose(id, alone(counting(5), 4));
  s.sched.propose(id, {1, 2, 3});
  const auto comes = late_step(s, id);
  absorb(s, comes);
  BOOST_TEST(s.events.back().drafts == 3);
  BOOST_TEST(s.step().truncations.size() == 1u);
  s.finish();
  BOOST_TEST(s.sampled(id) == alone(counting(5), 9), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_comes_for_a_run_that_has_ended_is_nothing) {
  served s(roomy());
  const auto abandoned = s.sched.submit({}, {counting(5), output::sample, 4});
  const auto first = late_step(s, abandoned);
  s.sched.abandon(abandoned);
  BOOST_CHECK(s.sched.absorb(first).empty());
  s.sched.start(abandoned, {counting(3), output::sample, 2});
  const auto second = late_step(s, abandoned);
  BOOST_CHECK(s.sched.absorb(first).empty());
  BOOST_CHECK(s.sched.absorb(second).size() == 1u);
  BOOST_CHECK(s.sched.absorb(second).empty());
  const auto gone = s.sched.submit({}, {counting(4, 9), output::sample, 4});
  const auto third = late_step(s, gone);
  s.sched.cancel(gone);
  BOOST_CHECK(s.sched.absorb(third).empty());
}

BOOST_AUTO_TEST_CASE(absorb_says_which_late_rows_are_still_awaited) {
  served s(roomy());
  const auto abandoned = s.sched.submit({}, {counting(5), output::sample, 4});
  const auto awaited = s.sched.submit({}, {counting(6), output::sample, 4});
  auto plan = s.sched.next();
  s.sched.abandon(abandoned);
  for (auto& row : plan.rows) row.late = true;
  s.sched.absorb(plan);
  BOOST_TEST(!row_of(plan, abandoned)->late);
  BOOST_TEST(row_of(plan, awaited)->late);
}

BOOST_AUTO_TEST_CASE(a_failed_one_ends_its_run) {
  served s(roomy());
  const auto id = s.sched.submit({}, {counting(5), output::sample, 4});
  auto comes = late_step(s, id);
  comes.failed = true;
  absorb(s, comes);
  BOOST_TEST(s.count(id, event::kind::finished) == 1);
  BOOST_CHECK(s.events.back().reason == finish::failed);
  BOOST_TEST(s.sched.idle(id));
  BOOST_TEST(s.sched.tokens(id).size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_awaits_one_keeps_its_slot) {
  served s(crowded(1));
  const auto slow = s.sched.submit({}, {counting(5), output::sample, 1});
  const auto comes = late_step(s, slow);
  const auto waits = s.sched.submit({}, {counting(3, 20), output::sample, 2});
  s.now += time(1000);
  BOOST_CHECK(s.step().empty());
  BOOST_CHECK(!s.sched.wake());
  BOOST_CHECK(s.sched.scheduled(slow));
  absorb(s, comes);
  s.now += time(1000);
  BOOST_CHECK(row_of(s.step(), waits));
}

BOOST_AUTO_TEST_CASE(no_row_is_late_that_another_one_is_chained_to) {
  auto within = roomy();
  within.depth = 2;
  served s(within);
  const auto id = s.sched.submit({}, {counting(5), output::sample, 4});
  auto first = s.sched.next();
  BOOST_REQUIRE(row_of(s.sched.next(), id)->chained);
  first.rows[0].late = true;
  BOOST_CHECK_THROW(s.sched.absorb(first), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
