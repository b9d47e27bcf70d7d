// Draft tokens: a row runs them behind its own, and those that are sampled are accepted.
#include "draft_acceptance.hpp"
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

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

std::vector<token> wrong(std::vector<token> drafts, std::size_t first) {
  for (auto i = first; i < drafts.size(); ++i) drafts[i] = (drafts[i] + 1) % toy::model{}.vocabulary;
  return drafts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(those_that_are_sampled_are_accepted_and_one_more_token_comes) {
  for (const std::size_t accepted : {0u, 1u, 3u, 5u}) {
    served s(drafting());
    const auto id = sampling(s, 6, 100);
    s.sched.propose(id, wrong(right(s, id, 5), accepted));
    const auto plan = s.step();
    BOOST_TEST(row_of(plan, id)->count == 6);
    BOOST_TEST(row_of(plan, id)->drafts == 5);
    BOOST_TEST(row_of(plan, id)->outputs() == 6);
    BOOST_TEST(!row_of(plan, id)->prefill);
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
  const auto plan = s.step();
  int sum = 0;
  for (const auto& row : plan.rows) sum += row.drafts;
  BOOST_TEST(sum == 7);
  BOOST_TEST(plan.sampled.size() == 3u + 7u);
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
  const auto plan = s.step();
  BOOST_TEST(row_of(plan, id)->drafts == 2);
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

BOOST_AUTO_TEST_CASE(a_slot_that_never_goes_back_later_drops_them_with_the_next_step) {
  for (const std::size_t accepted : {0u, 1u, 3u}) {
    auto within = drafting();
    within.max_rollback_tokens = 0;
    within.max_dropped_drafts = 3;
    served s(within);
    const auto id = sampling(s, 6, 100);
    s.sched.propose(id, wrong(right(s, id, 5), accepted));
    BOOST_TEST(row_of(s.step(), id)->drafts == 3);
    const auto next = s.step();
    BOOST_TEST(next.truncations.size() == (accepted < 3 ? 1u : 0u));
    BOOST_TEST(row_of(next, id)->count == 1);
    BOOST_TEST(s.sampled(id) == alone(counting(6), static_cast<int>(3 + accepted)), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_such_a_slot_dropped_is_not_swapped_out) {
  auto within = drafting();
  within.max_rollback_tokens = 0;
  within.max_dropped_drafts = 3;
  within.swap_bytes = plenty;
  served s(within);
  const auto expected = alone(counting(6), 2);
  const auto id = sampling(s, 6, 100, {.end_tokens = {expected[1]}});
  s.sched.propose(id, wrong(right(s, id, 5), 0));
  s.step();
  BOOST_TEST(s.sched.idle(id));
  s.sched.suspend(id);
  const auto out = s.step();
  BOOST_REQUIRE(out.swap_outs.size() == 1u);
  BOOST_TEST(out.swap_outs[0].length == 7);
  s.end_transfers();
  s.sched.start(id, {{5}, output::sample, 1});
  s.step();
  s.end_transfers();
  BOOST_TEST(tokens_in(s.step()) == 1);
}

BOOST_AUTO_TEST_CASE(an_end_token_among_them_leaves_what_others_can_share) {
  const auto expected = alone(counting(6), 4);
  auto within = sharing_limits(2, 0);
  within.max_draft_tokens = 16;
  within.max_dropped_drafts = 6;
  served s(within);
  const auto id = sampling(s, 6, 100, {.end_tokens = {expected[2]}, .release_at_end = true});
  s.sched.propose(id, right(s, id, 6));
  s.step();
  BOOST_TEST(s.sched.live() == 0);
  const auto again = joined(joined(counting(6), {expected[0], expected[1]}), {1, 2, 3});
  const auto next = s.sched.submit({}, {again, output::sample, 1});
  s.step();
  BOOST_TEST(s.sched.prefix_hit_tokens(next) == 8);
}

BOOST_AUTO_TEST_CASE(none_takes_the_place_of_another_row) {
  auto within = drafting();
  within.max_batched_tokens = 6;
  served s(within);
  std::vector<sequence_id> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(sampling(s, 3, 100));
  for (const auto id : ids) s.sched.propose(id, right(s, id, 5));
  const auto plan = s.step();
  BOOST_TEST(plan.rows.size() == 3u);
  BOOST_TEST(tokens_in(plan) == 5);  // and one is kept for prompts
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
  auto plan = s.sched.next(s.now);
  s.runner.run(plan);
  plan.sampled_of(plan.rows.front(), 2) = -1;
  s.sched.absorb(plan);
  s.sched.verify();
  BOOST_TEST(plan.events.size() == 2u);
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

draft_acceptance seen(int right, int wrong) {
  draft_acceptance acceptance;
  for (int i = 0; i < wrong; ++i) acceptance.saw(1, 0);
  for (int i = 0; i < right; ++i) acceptance.saw(2, 2);
  return acceptance;
}

std::vector<double> likelihoods(const std::vector<draft_acceptance>& rows, std::int64_t most) {
  std::vector<double> result;
  for (const auto& each : rows)
    for (std::int64_t i = 0; i < most; ++i) result.push_back(each.likelihood(i));
  return result;
}

/// How many draft tokens the rows of a step have.
std::vector<std::int64_t> chosen(const std::vector<draft_acceptance>& rows, std::int64_t most,
                                 const draft_costs::estimate& costs, std::int64_t forced = 0) {
  auto probabilities = likelihoods(rows, most);
  const auto least = min_worthwhile_likelihood(probabilities, {.rows = std::ssize(rows), .drafts = forced}, costs);
  std::vector<std::int64_t> counts;
  for (const auto& each : rows) counts.push_back(each.count(most, least));
  return counts;
}

std::int64_t chosen_for(const draft_acceptance& row, int rows, const draft_costs::estimate& costs) {
  return chosen(std::vector(static_cast<std::size_t>(rows), row), 8, costs).front();
}

/// Tokens in the time of the step that have so many draft tokens.
double rate(const std::vector<draft_acceptance>& rows, const std::vector<std::int64_t>& counts, double row_time,
            double draft_time) {
  auto tokens = static_cast<double>(rows.size());
  double time = row_time * tokens;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::int64_t k = 0; k < counts[i]; ++k) tokens += rows[i].likelihood(k), time += draft_time;
  return tokens / time;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_draft_is_as_likely_as_those_before_it_were_right) {
  draft_acceptance acceptance;
  for (int i = 0; i < 200; ++i) acceptance.saw(4, 2);
  BOOST_TEST(acceptance.likelihood(0) > 0.99);
  BOOST_TEST(acceptance.likelihood(1) / acceptance.likelihood(0) < 0.6);
  for (int i = 0; i < 200; ++i) acceptance.saw(4, 0);
  BOOST_TEST(acceptance.likelihood(0) < 0.01);
  acceptance = {};
  for (int i = 0; i < 200; ++i) acceptance.saw(3, 3);
  BOOST_TEST(acceptance.likelihood(7) > 0.99);
}

BOOST_AUTO_TEST_CASE(drafts_that_cost_no_time_are_all_worth_it) {
  BOOST_TEST(chosen_for(seen(40, 0), 1, {100, 0}) == 8);
  BOOST_TEST(chosen_for({}, 1, draft_costs().predict(1)) == 8);  // nothing is known of times
}

BOOST_AUTO_TEST_CASE(drafts_that_are_wrong_are_worth_no_time) {
  BOOST_TEST(chosen_for(seen(40, 0), 1, {100, 20}) == 8);
  BOOST_TEST(chosen_for(seen(0, 40), 1, {100, 20}) == 0);
  BOOST_TEST(chosen_for(seen(40, 0), 8, {50, 25}) == 8);
  BOOST_TEST(chosen_for(seen(3, 40), 16, {40, 25}) == 0);
}

BOOST_AUTO_TEST_CASE(drafts_that_take_as_long_as_rows_are_worth_nothing) {
  for (const int rows : {1, 4, 16}) BOOST_TEST(chosen_for(seen(80, 0), rows, {100, 100}) == 0);
}

BOOST_AUTO_TEST_CASE(no_choice_over_all_rows_brings_more_tokens_in_the_same_time) {
  constexpr double cautious = 1.25;
  std::mt19937 random(7);
  const auto any = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<draft_acceptance> rows;
    for (int i = 0; i < 3; ++i) rows.push_back(seen(any(12), any(12)));
    const draft_costs::estimate costs{100, static_cast<double>(1 + any(90))};
    const double best = rate(rows, chosen(rows, 3, costs), costs.row, cautious * costs.draft);
    for (std::int64_t a = 0; a <= 3; ++a)
      for (std::int64_t b = 0; b <= 3; ++b)
        for (std::int64_t c = 0; c <= 3; ++c)
          BOOST_TEST_REQUIRE(rate(rows, {a, b, c}, costs.row, cautious * costs.draft) <= best * (1 + 1e-12));
  }
}

BOOST_AUTO_TEST_CASE(forced_drafts_raise_what_others_have_to_bring) {
  const auto row = seen(1, 0);
  const draft_costs::estimate costs{100, 20};
  BOOST_TEST(chosen({row, row}, 8, costs, 0).front() > chosen({row, row}, 8, costs, 40).front());
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

BOOST_AUTO_TEST_CASE(rows_that_come_before_it_are_rows_of_its_step) {
  served s(drafting());
  s.takes = [](const step& plan) { return time(1000 * tokens_in(plan)); };
  std::vector<sequence_id> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(sampling(s, 6, 1000, {.max_new_tokens = 100}));
  for (const auto id : ids) s.sched.run_ahead(id, false);
  for (int i = 0; i < 40; ++i) {
    const auto last = ids[static_cast<std::size_t>(i % 8)];
    s.sched.propose(last, wrong(right(s, last, 4), 0), true);
    s.step();
  }
  BOOST_TEST(s.sched.draft_tokens() <= 8u);  // to measure them
}

BOOST_AUTO_TEST_CASE(times_of_prompts_say_nothing_of_drafts) {
  for (const bool drafts_are_cheap : {true, false}) {
    served s(drafting());
    s.takes = [&](const step& plan) {
      int drafts = 0;
      for (const auto& row : plan.rows) drafts += row.drafts;
      const int rows = static_cast<int>(plan.rows.size());
      const int of_prompts = tokens_in(plan) - rows - drafts;
      return time(1000 * rows + (drafts_are_cheap ? 100 : 1000) * drafts +
                  (drafts_are_cheap ? 1000 : 100) * of_prompts);
    };
    std::vector<sequence_id> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(sampling(s, 40, 1000, {.max_new_tokens = 150}));
    int run = 0;
    for (int i = 0; i < 12; ++i) {
      for (const auto id : ids) s.sched.propose(id, right(s, id, 4), true);
      s.sched.submit({.release_at_end = true}, {counting(30, i), output::last_logits});
      s.step();  // with a prompt
      for (const auto id : ids) s.sched.propose(id, right(s, id, 4), true);
      run = row_of(s.step(), ids[0])->drafts;
    }
    BOOST_TEST(run == (drafts_are_cheap ? 4 : 0));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
