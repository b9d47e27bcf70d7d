// Draft tokens: a row runs them behind its own, and those that are sampled are accepted.
#include "draft_acceptance.hpp"
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(drafts)
namespace {

limits drafting(int max_draft_tokens = 16) {
  auto within = roomy();
  within.max_draft_tokens = max_draft_tokens;
  return within;
}

/// A sequence of `count` tokens that has sampled one more.
sequence_id sampling(served& s, int count, int credits, sequence_options options = {}) {
  const auto id = s.sched.submit(options, {counting(count), output::sample, credits});
  while (s.sampled(id).empty()) s.step();
  return id;
}

/// What the sequence samples next, `count` tokens.
std::vector<token> right(served& s, sequence_id id, int count) {
  const auto& held = s.sched.tokens(id);
  return alone({held.begin(), held.end()}, count);
}

std::vector<token> wrong(std::vector<token> drafts, std::size_t from) {
  for (auto i = from; i < drafts.size(); ++i) drafts[i] = (drafts[i] + 1) % toy::model{}.vocabulary;
  return drafts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(those_that_are_sampled_are_accepted_and_one_more_token_comes) {
  for (const std::size_t accepted : {0u, 1u, 3u, 5u}) {
    served s(drafting());
    const auto id = sampling(s, 6, 100);
    s.sched.propose(id, wrong(right(s, id, 5), accepted));
    const auto made = s.step();
    BOOST_TEST(row_of(made, id)->count == 6);
    BOOST_TEST(row_of(made, id)->drafts == 5);
    BOOST_TEST(row_of(made, id)->outputs() == 6);
    BOOST_TEST(!row_of(made, id)->prefill);
    BOOST_TEST(s.sampled(id).size() == 2 + accepted);
    for (int i = 0; i < 4; ++i) s.step();
    BOOST_TEST(s.sampled(id) == alone(counting(6), static_cast<int>(6 + accepted)), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_was_refused_is_cut_off_and_what_was_accepted_is_not_run_again) {
  served s(drafting());
  const auto id = sampling(s, 6, 100);
  s.sched.propose(id, wrong(right(s, id, 5), 2));
  s.step();
  const auto next = s.step();
  BOOST_REQUIRE(next.truncations.size() == 1u);
  BOOST_TEST(next.truncations[0].length == 6 + 1 + 2);
  BOOST_TEST(row_of(next, id)->count == 1);
}

BOOST_AUTO_TEST_CASE(nothing_is_cut_off_if_all_were_accepted) {
  served s(drafting());
  const auto id = sampling(s, 6, 100);
  s.sched.propose(id, right(s, id, 5));
  s.step();
  BOOST_TEST(s.step().truncations.empty());
}

BOOST_AUTO_TEST_CASE(each_event_says_after_how_many_drafts_its_token_came) {
  served s(drafting());
  const auto id = sampling(s, 6, 100);
  s.sched.propose(id, right(s, id, 2));
  s.launch();
  const auto events = s.absorb();
  BOOST_REQUIRE(events.size() == 3u);
  for (int i = 0; i < 3; ++i) BOOST_TEST(events[static_cast<std::size_t>(i)].after_drafts == i);
}

BOOST_AUTO_TEST_CASE(they_are_run_behind_a_prompt) {
  served s(drafting());
  const auto id = s.sched.submit({}, {counting(10), output::sample, 100});
  s.sched.propose(id, alone(counting(10), 3));
  BOOST_TEST(row_of(s.step(), id)->count == 13);
  BOOST_TEST(s.sampled(id) == alone(counting(10), 4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(they_wait_for_the_last_part_of_a_prompt) {
  auto within = drafting();
  within.max_batched_tokens = 6;
  served s(within);
  const auto id = s.sched.submit({}, {counting(10), output::sample, 100});
  s.sched.propose(id, alone(counting(10), 5));
  BOOST_TEST(row_of(s.step(), id)->drafts == 0);
  BOOST_TEST(row_of(s.step(), id)->drafts == 2);  // what is left of the step
  BOOST_TEST(s.sampled(id) == alone(counting(10), 3), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(none_are_run_without_a_limit_that_allows_them) {
  served s(roomy());
  const auto id = sampling(s, 6, 100);
  s.sched.propose(id, right(s, id, 5));
  BOOST_TEST(row_of(s.step(), id)->count == 1);
}

BOOST_AUTO_TEST_CASE(a_step_has_no_more_of_them_than_its_limit) {
  served s(drafting(7));
  std::vector<sequence_id> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(sampling(s, 6, 100));
  for (const auto id : ids) s.sched.propose(id, right(s, id, 5));
  const auto made = s.step();
  int sum = 0;
  for (const auto& row : made.rows) sum += row.drafts;
  BOOST_TEST(sum == 7);
  BOOST_TEST(made.sampled_after_drafts.size() == 7u);
}

BOOST_AUTO_TEST_CASE(a_run_takes_no_more_tokens_than_it_has_credits) {
  served s(drafting());
  const auto id = sampling(s, 6, 4);
  s.sched.propose(id, right(s, id, 9));
  BOOST_TEST(row_of(s.step(), id)->drafts == 2);
  BOOST_TEST(s.sampled(id).size() == 4u);
  BOOST_TEST((s.sched.phase_of(id) == phase::paused));
  s.sched.grant(id, 1);
  s.step();
  BOOST_TEST(s.sampled(id).size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_refused_draft_costs_no_credit) {
  served s(drafting());
  const auto id = sampling(s, 6, 4);
  s.sched.propose(id, wrong(right(s, id, 9), 0));
  s.finish();
  BOOST_TEST(s.sampled(id).size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_run_of_one_sample_takes_one_row) {
  served s(drafting());
  const auto id = prefilled(s, 6);
  s.sched.start(id, {{}, output::sample, 10, 1});
  s.sched.propose(id, wrong(right(s, id, 5), 3));
  s.finish();
  BOOST_TEST(s.sampled(id).size() == 4u);
  BOOST_TEST(s.sched.idle(id));
  BOOST_TEST(s.sched.tokens(id).size() == 10u);
}

BOOST_AUTO_TEST_CASE(an_end_token_ends_the_run_within_the_drafts) {
  const auto expected = alone(counting(6), 4);
  served s(drafting());
  const auto id = sampling(s, 6, 100, {.end_tokens = {expected[3]}, .release_at_end = true});
  s.sched.propose(id, right(s, id, 6));
  s.step();
  BOOST_TEST(s.sampled(id) == expected, boost::test_tools::per_element());
  BOOST_TEST((s.events.back().reason == finish::end_token));
  BOOST_TEST(s.sched.live() == 0);
}

BOOST_AUTO_TEST_CASE(a_sequence_holds_no_more_than_it_may) {
  served s(drafting());
  const auto id = sampling(s, 6, 100, {.max_new_tokens = 4, .release_at_end = true});
  s.sched.propose(id, right(s, id, 9));
  const auto made = s.step();
  BOOST_TEST(row_of(made, id)->drafts == 2);
  BOOST_TEST(s.sampled(id).size() == 4u);
  BOOST_TEST((s.events.back().reason == finish::length));
}

BOOST_AUTO_TEST_CASE(a_slot_gets_only_as_many_as_it_can_drop_again) {
  for (const int most : {0, 2}) {
    auto within = drafting();
    within.max_rollback_tokens = most;
    served s(within);
    const auto id = sampling(s, 6, 100);
    s.sched.propose(id, wrong(right(s, id, 5), 0));
    BOOST_TEST(row_of(s.step(), id)->drafts == most);
    BOOST_TEST(row_of(s.step(), id)->count == 1);
    BOOST_TEST(s.sampled(id) == alone(counting(6), 3), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(none_takes_the_place_of_another_row) {
  auto within = drafting();
  within.max_batched_tokens = 6;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(sampling(s, 3, 100));
  for (const auto id : ids) s.sched.propose(id, right(s, id, 5));
  const auto made = s.step();
  BOOST_TEST(made.rows.size() == 3u);
  BOOST_TEST(tokens_in(made) == 5);  // and one is kept for prompts
}

BOOST_AUTO_TEST_CASE(no_memory_is_reserved_for_them) {
  auto within = drafting();
  within.memory_bytes = within.usage(within.max_sequence_length);
  served s(within, fcfs(), longest_idle(), watermarks({.high = 1, .low = 1, .step = 0}));
  const auto id = sampling(s, 6, 100);  // two blocks are reserved
  s.sched.propose(id, right(s, id, 5));
  BOOST_TEST(row_of(s.step(), id)->drafts == 1);
}

BOOST_AUTO_TEST_CASE(a_token_that_cannot_be_sampled_after_a_draft_is_tried_again_as_any_other) {
  served s(drafting());
  const auto id = sampling(s, 6, 100);
  s.sched.propose(id, right(s, id, 3));
  auto made = s.sched.next(s.now);
  s.runner.run(made);
  made.sampled_after_drafts[1] = -1;
  s.sched.absorb(made);
  s.sched.verify();
  BOOST_TEST(made.events.size() == 2u);
  s.fails = [](const row&) { return true; };
  const auto again = s.step();
  BOOST_TEST(again.truncations.at(0).length == 6 + 2);
  BOOST_TEST((s.events.back().reason == finish::failed));
}

BOOST_AUTO_TEST_CASE(a_row_that_fails_takes_its_drafts_with_it) {
  served s(drafting());
  const auto id = sampling(s, 6, 100);
  s.sched.propose(id, right(s, id, 3));
  s.fails = [](const row&) { return true; };
  s.step();
  BOOST_TEST((s.events.back().reason == finish::failed));
  BOOST_TEST(s.sched.tokens(id).size() == 7u);
}

BOOST_AUTO_TEST_CASE(no_row_is_chained_to_one_with_drafts) {
  auto within = drafting();
  within.depth = 2;
  served s(within);
  const auto id = sampling(s, 6, 100);
  s.sched.propose(id, right(s, id, 3));
  BOOST_TEST(row_of(s.launch(), id)->drafts == 3);
  BOOST_TEST(s.launch().empty());
  s.absorb();
  BOOST_TEST(!row_of(s.launch(), id)->chained);
  BOOST_TEST(row_of(s.launch(), id)->chained);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_does_not_run_ahead_can_have_drafts_in_each_row) {
  auto within = drafting();
  within.depth = 2;
  served s(within);
  const auto id = sampling(s, 6, 100);
  s.sched.run_ahead(id, false);
  BOOST_TEST(row_of(s.launch(), id)->drafts == 0);
  s.sched.propose(id, {1, 2, 3});  // too late, or too early
  BOOST_TEST(s.launch().empty());
  s.absorb();
  s.sched.propose(id, right(s, id, 3));
  BOOST_TEST(row_of(s.launch(), id)->drafts == 3);
}

BOOST_AUTO_TEST_CASE(an_abandoned_run_drops_them) {
  auto within = drafting();
  within.depth = 2;
  served s(within);
  const auto id = prefilled(s, 6);
  s.sched.start(id, {{7}, output::sample, 10});
  s.sched.propose(id, {1, 2, 3});
  s.launch();
  s.sched.abandon(id);
  s.absorb();
  check_continues(s, id, counting(6));
  s.sched.start(id, {{}, output::sample, 0});
  s.sched.propose(id, {1, 2, 3});
  s.sched.abandon(id);
  check_continues(s, id, joined(counting(6), alone(counting(6), 3)));
}

BOOST_AUTO_TEST_CASE(a_sequence_that_is_idle_or_gone_takes_none) {
  served s(drafting());
  const auto id = prefilled(s, 6);
  s.sched.propose(id, {1, 2, 3});
  check_continues(s, id, counting(6));
  s.sched.cancel(id);
  s.sched.propose(id, {1, 2, 3});
  s.sched.run_ahead(id, false);
}

BOOST_AUTO_TEST_CASE(a_negative_limit_is_refused) { BOOST_CHECK_THROW(scheduler(drafting(-1)), std::invalid_argument); }

// What is worth its time

namespace {

step_costs costs_of(std::initializer_list<std::pair<std::int64_t, std::int64_t>> tokens_and_times) {
  step_costs costs;
  for (const auto& [tokens, time] : tokens_and_times) costs.took(tokens, std::chrono::nanoseconds(time));
  return costs;
}

draft_acceptance seen(int right, int wrong) {
  draft_acceptance made;
  for (int i = 0; i < wrong; ++i) made.saw(1, 0);
  made.saw(right, right);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(drafts_that_cost_no_time_are_all_worth_it) {
  const auto costs = costs_of({{1, 100}, {16, 100}});
  BOOST_TEST(seen(40, 0).worthwhile(8, {1, 1}, costs) == 8);
  BOOST_TEST(draft_acceptance().worthwhile(8, {1, 1}, {}) == 8);  // nothing is known of times
}

BOOST_AUTO_TEST_CASE(drafts_that_are_wrong_are_worth_no_time) {
  const auto costs = costs_of({{1, 100}, {8, 250}, {32, 800}});
  BOOST_TEST(seen(40, 0).worthwhile(8, {1, 1}, costs) == 8);
  BOOST_TEST(seen(0, 40).worthwhile(8, {1, 1}, costs) == 0);
  BOOST_TEST(seen(40, 0).worthwhile(8, {8, 8}, costs) > 0);
  BOOST_TEST(seen(3, 40).worthwhile(8, {16, 16}, costs) == 0);
}

BOOST_AUTO_TEST_CASE(drafts_of_steps_whose_time_grows_with_each_token_are_worth_nothing) {
  const auto costs = costs_of({{1, 100}, {16, 1600}, {64, 6400}});
  for (const int rows : {1, 4, 16}) BOOST_TEST(seen(80, 0).worthwhile(8, {rows, double(rows)}, costs) == 0);
}

BOOST_AUTO_TEST_CASE(a_sequence_gets_drafts_again_once_those_it_did_not_run_would_have_been_right) {
  auto within = drafting();
  served s(within);
  s.takes = [](const auto& step) { return time(1000 + 300 * tokens_in(step)); };
  const auto id = sampling(s, 6, 1000, {.max_new_tokens = 200});
  const auto go_on = [&](bool is_right) {
    int run = 0;
    for (int i = 0; i < 20; ++i) {
      s.sched.propose(id, is_right ? right(s, id, 4) : wrong(right(s, id, 4), 0), true);
      run = row_of(s.step(), id)->drafts;
    }
    return run;
  };
  BOOST_TEST(go_on(false) == 0);
  BOOST_TEST(go_on(true) == 4);
  BOOST_TEST(go_on(false) == 0);
  BOOST_TEST(s.sampled(id) == alone(counting(6), static_cast<int>(s.sampled(id).size())),
             boost::test_tools::per_element());
  BOOST_TEST(s.sched.accepted_drafts() <= s.sched.draft_tokens());
  BOOST_TEST(s.sched.accepted_drafts() > 20u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
