// Prompts whose tokens are scored, and prompts that several sequences share from their first token on.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(prompt_scores)
namespace {

sequence_id ask(served& s, std::vector<token> tokens, bool scores_prompt, sequence_options options = {}) {
  options.max_new_tokens = 3;
  options.release_at_end = true;
  return s.sched.submit(options, {.tokens = std::move(tokens), .credits = 3, .scores_prompt = scores_prompt});
}

struct rows_run {
  int tokens = 0;
  int scores = 0;
};

/// Steps until there is nothing to do; what rows of the sequence ran and scored.
rows_run finish(served& s, sequence_id id) {
  rows_run sum;
  for (step plan = s.step(); !plan.empty(); plan = s.step())
    if (const auto* const row = row_of(plan, id)) sum.tokens += row->count, sum.scores += row->scores();
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_token_of_a_prompt_but_the_last_is_followed_by_one_to_score) {
  auto within = roomy();
  within.max_batched_tokens = 4;
  served s(within);
  const auto id = ask(s, counting(10), true);
  std::vector<int> outputs, scores;
  for (step plan = s.step(); !plan.empty(); plan = s.step()) {
    if (plan.rows.empty()) continue;  // it has given up its slot
    outputs.push_back(row_of(plan, id)->outputs());
    scores.push_back(row_of(plan, id)->scores());
  }
  BOOST_TEST(outputs == (std::vector{4, 4, 2, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST(scores == (std::vector{4, 4, 1, 0, 0}), boost::test_tools::per_element());
  BOOST_CHECK(s.sampled(id) == alone(counting(10), 3));
}

BOOST_AUTO_TEST_CASE(a_prompt_after_which_nothing_is_sampled_is_scored_alike) {
  auto within = roomy();
  within.max_batched_tokens = 4;
  for (const int length : {1, 4, 5, 10}) {
    served s(within);
    const auto id = s.sched.submit({.max_new_tokens = 0, .release_at_end = true},
                                   {.tokens = counting(length), .credits = 3, .scores_prompt = true});
    const auto run = finish(s, id);
    BOOST_TEST(run.tokens == length);
    BOOST_TEST(run.scores == length - 1);
    BOOST_TEST(s.sched.live() == 0);
  }
}

BOOST_AUTO_TEST_CASE(other_rows_score_nothing) {
  served s(roomy());
  ask(s, counting(10), false);
  const auto other = s.sched.submit({}, {counting(5), output::all_logits});
  const auto plan = s.step();
  BOOST_CHECK_EQUAL(plan.rows[0].outputs(), 1);
  BOOST_CHECK_EQUAL(plan.rows[0].scores(), 0);
  BOOST_CHECK_EQUAL(row_of(plan, other)->outputs(), 5);
  BOOST_CHECK_EQUAL(row_of(plan, other)->scores(), 0);
}

BOOST_AUTO_TEST_CASE(only_a_run_that_samples_scores_its_prompt) {
  served s(roomy());
  BOOST_CHECK_THROW(s.sched.submit({}, {.tokens = counting(3), .wanted = output::last_logits, .scores_prompt = true}),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_is_scored_is_run_and_others_share_it) {
  served s(sharing_limits(4));
  ask(s, counting(100), false);
  s.finish();
  const auto scored = finish(s, ask(s, counting(100), true));
  BOOST_CHECK_EQUAL(scored.tokens, 100 + 2);
  BOOST_CHECK_EQUAL(scored.scores, 99);
  s.sched.drop_prefix_cache();
  ask(s, counting(100), true);
  const auto follows = ask(s, counting(100), false);
  BOOST_CHECK_EQUAL(finish(s, follows).tokens, 1 + 2);
}

/// What it has scored before is scored once more, with the same result.
BOOST_AUTO_TEST_CASE(a_prompt_that_is_run_again_is_scored_until_a_token_was_sampled) {
  auto within = roomy();
  within.slots = 1;
  within.max_batched_tokens = 4;
  within.idle_timeout = time(0);
  served s(within);
  const auto id = s.sched.submit({}, {.tokens = counting(10), .credits = 1, .scores_prompt = true});
  while (s.sampled(id).empty()) s.step();
  const auto other = s.sched.submit({.release_at_end = true}, {counting(5, 20), output::last_logits});
  s.finish();  // it has no credits, and gives way
  BOOST_REQUIRE(!s.sched.scheduled(id));
  BOOST_CHECK_EQUAL(s.count(other, event::kind::logits), 1);
  s.sched.grant(id, 1);
  const auto again = finish(s, id);
  BOOST_CHECK_EQUAL(again.tokens, 11);
  BOOST_CHECK_EQUAL(again.scores, 0);
}

BOOST_AUTO_TEST_CASE(a_failing_chunk_ends_the_run) {
  auto within = roomy();
  within.max_batched_tokens = 4;
  served s(within);
  s.fails = [](const row& row) { return row.scores() > 0; };
  const auto id = ask(s, counting(10), true);
  s.finish();
  BOOST_CHECK_EQUAL(s.count(id, event::kind::finished), 1);
  BOOST_CHECK_EQUAL(s.sched.live(), 0);
}

BOOST_AUTO_TEST_CASE(equal_prompts_shorter_than_a_block_run_once_if_they_are_to_share_any_token) {
  for (const int max_rollback_tokens : {std::numeric_limits<int>::max(), 0}) {
    served s(sharing_limits(4, max_rollback_tokens));
    std::vector<sequence_id> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(ask(s, counting(3), false, {.min_shared_prefix = 1}));
    int tokens = 0;
    for (step plan = s.step(); !plan.empty(); plan = s.step()) tokens += tokens_in(plan);
    BOOST_CHECK_EQUAL(tokens, 2 + 4 * 3);  // all but the last token of the prompt once, and three rows of each
    for (const auto id : ids) BOOST_CHECK(s.sampled(id) == alone(counting(3), 3));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
