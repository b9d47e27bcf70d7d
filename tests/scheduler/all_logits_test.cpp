// Runs for the logits of each of their tokens, of which a step has no more than a limit.
#include "scheduler/served.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(all_logits)
namespace {

limits limited(int max_all_logits_tokens) {
  auto within = roomy();
  within.max_all_logits_tokens = max_all_logits_tokens;
  return within;
}

sequence_id ask(served& s, int count, output wanted = output::all_logits) {
  return s.sched.submit({}, {counting(count), wanted, plenty});
}

/// A run of one token more.
void ask_again(served& s, sequence_id id) { s.sched.start(id, {{1}, output::all_logits}); }

int count_of(const step& plan, sequence_id id) {
  const auto* const row = row_of(plan, id);
  return row ? row->count : 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_long_run_is_divided_over_steps_in_which_others_go_on) {
  served s(limited(4));
  const auto decodes = ask(s, 1, output::sample);
  s.step();
  const auto divided = ask(s, 10);
  const auto prompt = ask(s, 150, output::last_logits);
  for (const auto& [of_divided, of_prompt] : {std::pair(4, 59), std::pair(4, 59), std::pair(2, 32)}) {
    const auto plan = s.step();
    BOOST_CHECK_EQUAL(count_of(plan, decodes), 1);
    BOOST_CHECK_EQUAL(count_of(plan, divided), of_divided);
    BOOST_CHECK_EQUAL(count_of(plan, prompt), of_prompt);
  }
  BOOST_CHECK(s.sched.idle(divided));
  BOOST_CHECK_EQUAL(s.count(divided, event::kind::logits), 3);
}

BOOST_AUTO_TEST_CASE(what_one_run_leaves_another_one_has) {
  served s(limited(4));
  const auto first = ask(s, 10), second = ask(s, 9), third = ask(s, 3);
  std::vector<std::vector<int>> counts;
  for (step plan = s.step(); !plan.rows.empty(); plan = s.step())
    counts.push_back({count_of(plan, first), count_of(plan, second), count_of(plan, third)});
  const std::vector<std::vector<int>> expected{{4, 0, 0}, {4, 0, 0}, {2, 2, 0}, {0, 4, 0}, {0, 3, 1}, {0, 0, 2}};
  BOOST_CHECK(counts == expected);
}

BOOST_AUTO_TEST_CASE(rows_for_other_outputs_do_not_count) {
  served s(limited(2));
  const auto last = ask(s, 10, output::last_logits);
  const auto samples = ask(s, 10, output::sample);
  const auto scored = s.sched.submit({}, {.tokens = counting(10), .scores_prompt = true});
  const auto id = ask(s, 10);
  const auto plan = s.step();
  for (const auto id : {last, samples, scored}) BOOST_CHECK_EQUAL(count_of(plan, id), 10);
  BOOST_CHECK_EQUAL(count_of(plan, id), 2);
}

/// One of two is kept for prefill, of which nothing waits.
BOOST_AUTO_TEST_CASE(runs_of_single_tokens_count_and_take_turns) {
  served s(limited(2));
  std::vector<sequence_id> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(ask(s, 1));
  const auto decodes = ask(s, 1, output::sample);
  for (int i = 0; i < 50; ++i) {
    const auto plan = s.step();
    BOOST_CHECK_EQUAL(count_of(plan, decodes), 1);
    BOOST_CHECK_EQUAL(plan.rows.size(), 3);
    for (const auto id : ids)
      if (s.sched.idle(id)) ask_again(s, id);
  }
  for (const auto id : ids) BOOST_CHECK_EQUAL(s.count(id, event::kind::logits), 25);
}

BOOST_DATA_TEST_CASE(a_long_run_comes_through_although_single_tokens_want_every_logit,
                     boost::unit_test::data::make({1, 2, 3, 8}), most) {
  served s(limited(most));
  std::vector<sequence_id> singles;
  for (int i = 0; i < 7; ++i) singles.push_back(ask(s, 1));
  s.finish();
  for (const auto id : singles) ask_again(s, id);
  const auto run = ask(s, 10);
  for (int steps = 0; !s.sched.idle(run); ++steps) {
    BOOST_REQUIRE_LT(steps, 40);
    s.step();
    for (const auto id : singles)
      if (s.sched.idle(id)) ask_again(s, id);
  }
  for (const auto id : singles) BOOST_CHECK_GE(s.count(id, event::kind::logits), 2);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_waits_keeps_its_slot_and_begins_later) {
  served s(limited(4));
  const auto first = ask(s, 4), second = ask(s, 4);
  auto plan = s.step();
  BOOST_CHECK(!row_of(plan, second));
  BOOST_CHECK(s.sched.scheduled(second));
  BOOST_CHECK(s.sched.phase_of(second) == phase::prefilling);
  plan = s.step();
  BOOST_CHECK_EQUAL(count_of(plan, second), 4);
  BOOST_CHECK(s.sched.idle(first) && s.sched.idle(second));
  BOOST_CHECK_EQUAL(s.sched.preempted(), 0);
}

/// Its slot has more than its own tokens, and is cut only in the step of its row.
BOOST_AUTO_TEST_CASE(a_slot_is_not_cut_for_a_sequence_that_waits) {
  served s(limited(4));
  const auto cut = prefilled(s, 20);
  s.sched.truncate(cut, 8);
  const auto first = ask(s, 4);
  s.sched.start(cut, {counting(3), output::all_logits});
  auto plan = s.step();
  BOOST_CHECK_EQUAL(count_of(plan, first), 4);
  BOOST_CHECK(!row_of(plan, cut) && plan.truncations.empty());
  plan = s.step();
  BOOST_CHECK_EQUAL(count_of(plan, cut), 3);
  BOOST_CHECK_EQUAL(plan.truncations.size(), 1);
}

/// Another one that shares its prefix does not wait for what runs nothing.
BOOST_AUTO_TEST_CASE(no_sequence_follows_one_that_waits) {
  auto within = sharing_limits(4);
  within.max_all_logits_tokens = 4;
  served s(within);
  ask(s, 4);
  const auto waits = s.sched.submit({}, {counting(100, 50), output::all_logits});
  const auto alike = s.sched.submit({}, {counting(100, 50), output::last_logits});
  const auto plan = s.step();
  BOOST_CHECK(!row_of(plan, waits));
  BOOST_CHECK_EQUAL(count_of(plan, alike), 100);
}

BOOST_AUTO_TEST_CASE(two_steps_in_flight_have_the_limit_each) {
  auto within = limited(4);
  within.depth = 2;
  served s(within);
  const auto id = ask(s, 10);
  BOOST_CHECK_EQUAL(count_of(s.launch(), id), 4);
  BOOST_CHECK_EQUAL(count_of(s.launch(), id), 4);
  s.absorb();
  BOOST_CHECK_EQUAL(count_of(s.launch(), id), 2);
  s.absorb();
  s.absorb();
  BOOST_CHECK(s.sched.idle(id));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
