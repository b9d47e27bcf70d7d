// Tokens are run once for all sequences that begin with them.
#include "scheduler/served.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(shared_prefixes)
namespace {

constexpr int anywhere = std::numeric_limits<int>::max();

/// The common tokens, and after them some that no other `whose` has.
std::vector<token> prompt(int common, int own, int seq) { return joined(counting(common), counting(own, 5000 * seq)); }

sequence_id ask(served& s, std::vector<token> tokens, sequence_options options = {.release_at_end = true},
                std::vector<int> checkpoints = {}) {
  options.max_new_tokens = 2;
  return s.sched.submit(
      options,
      {.tokens = std::move(tokens), .wanted = output::sample, .credits = 2, .checkpoints = std::move(checkpoints)});
}

/// Steps until no sequence has anything to run; gives the tokens that were run, without those that were sampled.
int prompt_tokens_run(served& s) {
  int tokens = 0;
  for (step plan = s.step(); !plan.empty(); plan = s.step())
    for (const row& each : plan.rows)
      if (each.count > 1 || each.wanted == output::nothing) tokens += each.count;
  return tokens;
}

struct one_after_another {
  explicit one_after_another(const limits& within = sharing_limits(2)) : s(within) {}

  /// Tokens of its prompt that were run.
  int serve(std::vector<token> tokens, const sequence_options& options = {.release_at_end = true},
            std::vector<int> checkpoints = {}) {
    const auto expected = alone(tokens, 2);
    const auto id = ask(s, std::move(tokens), options, std::move(checkpoints));
    const int ran = prompt_tokens_run(s);
    BOOST_CHECK(s.sampled(id) == expected);
    return ran;
  }

  served s;
};

}  // namespace

BOOST_DATA_TEST_CASE(a_hundred_prompts_that_come_together_run_their_first_tokens_once,
                     boost::unit_test::data::make({anywhere, 64, 0}), max_rollback_tokens) {
  served s(sharing_limits(16, max_rollback_tokens));
  std::vector<sequence_id> ids;
  for (int i = 1; i <= 100; ++i) ids.push_back(ask(s, prompt(1000, 10, i)));
  BOOST_CHECK_EQUAL(prompt_tokens_run(s), 1000 + 100 * 10);
  for (int i = 1; i <= 100; ++i)
    BOOST_TEST(s.sampled(ids[static_cast<std::size_t>(i - 1)]) == alone(prompt(1000, 10, i), 2));
}

BOOST_AUTO_TEST_CASE(prompts_that_part_within_a_chunk_run_what_they_share_once) {
  for (const int max_rollback_tokens : {anywhere, 0, 4, 8, 20}) {
    served s(sharing_limits(8, max_rollback_tokens));
    for (int i = 1; i <= 20; ++i) ask(s, prompt(50, 10, i));
    BOOST_CHECK_EQUAL(prompt_tokens_run(s), 50 + 20 * 10);
  }
}

BOOST_AUTO_TEST_CASE(prompts_that_part_at_several_lengths_run_what_they_share_once) {
  for (const auto& lengths : {std::vector{80, 40}, std::vector{40, 80}, std::vector{60, 20, 80, 40}}) {
    served s(sharing_limits(8, 0));
    ask(s, prompt(100, 10, 1));
    int whose = 2;
    for (const int length : lengths) ask(s, prompt(length, 10, whose++));
    BOOST_CHECK_EQUAL(prompt_tokens_run(s), 100 + 10 * (1 + std::ssize(lengths)));
  }
}

BOOST_AUTO_TEST_CASE(no_sequence_waits_for_a_fork_that_recomputes_and_cannot_go_back) {
  served s(sharing_limits(4, 0));
  const auto parent = s.sched.submit({}, {counting(20), output::last_logits});
  s.finish();
  const auto child = s.sched.fork(parent);
  s.sched.truncate(child, 10);
  s.sched.start(child, {counting(30, 300), output::last_logits});
  const auto said = joined(joined(counting(10), counting(20, 300)), counting(5, 700));
  const auto other = ask(s, said);
  const auto plan = s.step();
  BOOST_REQUIRE(row_of(plan, child) && row_of(plan, other));
  BOOST_CHECK_EQUAL(row_of(plan, child)->count, 40);
  s.finish();
  BOOST_CHECK(s.sampled(other) == alone(said, 2));
}

BOOST_AUTO_TEST_CASE(what_a_sequence_leaves_is_begun_with_by_the_next_one) {
  one_after_another a;
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 1)), 110);
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 1);
  BOOST_CHECK_EQUAL(a.s.sched.free_slots(), 2);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 2)), 10);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 11, 1)), 0);  // but for its last token
  BOOST_CHECK_EQUAL(a.serve(prompt(50, 10, 3)), 10);
}

BOOST_AUTO_TEST_CASE(a_conversation_that_goes_on_takes_its_slot_over) {
  for (const int max_rollback_tokens : {anywhere, 0}) {
    one_after_another a(sharing_limits(2, max_rollback_tokens));
    const auto first = prompt(100, 0, 0);
    const auto answer = alone(first, 2);
    a.serve(first);
    const auto second = joined(joined(first, answer), counting(7, 300));
    const auto id = ask(a.s, second);
    const auto plan = a.s.step();
    BOOST_CHECK(plan.forks.empty() && plan.clears.empty());
    BOOST_CHECK_EQUAL(row_of(plan, id)->count, 8);  // the last token of the answer has not been run
    a.s.finish();
    BOOST_CHECK(a.s.sampled(id) == alone(second, 2));
  }
}

BOOST_AUTO_TEST_CASE(a_slot_that_cannot_go_back_is_kept_where_prompts_were_seen_to_part) {
  one_after_another a(sharing_limits(4, 0));
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 1)), 110);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 2)), 110);
  for (int i = 3; i < 8; ++i) BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, i)), 10);
}

BOOST_DATA_TEST_CASE(a_slot_that_cannot_go_back_is_kept_at_checkpoints, boost::unit_test::data::make({0, 8}),
                     max_rollback_tokens) {
  one_after_another a(sharing_limits(8, max_rollback_tokens));
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 50, 1), {.release_at_end = true}, {100, 130}), 150);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 2)), 10);
  BOOST_CHECK_EQUAL(a.serve(joined(prompt(100, 30, 1), counting(10, 900))), 10);
}

BOOST_AUTO_TEST_CASE(every_chunk_of_a_prompt_may_reach_checkpoints) {
  auto within = sharing_limits(8, 0);
  within.max_batched_tokens = 32;
  one_after_another a(within);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 1), {.release_at_end = true}, {32, 40, 64, 100}), 110);
  int slots = a.s.sched.prefix_cached_slots();
  BOOST_CHECK_EQUAL(slots, 5);
  for (const int length : {32, 40, 64, 100}) {
    BOOST_CHECK_EQUAL(a.serve(joined(counting(length), counting(6, 900))), 6);
  }
}

BOOST_AUTO_TEST_CASE(checkpoints_that_others_hold_already_take_no_slot) {
  const sequence_options leaves{.release_at_end = true};
  one_after_another a(sharing_limits(8, 0));
  a.serve(prompt(100, 10, 1), leaves, {100, 101, 103});  // a block has 4 tokens
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 2);
  a.serve(prompt(100, 10, 2), leaves, {98, 100, 101});
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 3);
}

BOOST_AUTO_TEST_CASE(checkpoints_that_others_hold_all_but_a_twentieth_of_take_no_slot) {
  auto within = sharing_limits(8, 0);
  within.usage.block = 64;
  one_after_another a(within);
  a.serve(prompt(200, 10, 1), {.release_at_end = true}, {100, 105});
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 2);
  a.serve(prompt(106, 10, 2), {.release_at_end = true}, {106});
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 4);
  BOOST_CHECK_EQUAL(a.serve(prompt(106, 10, 3)), 10);
}

BOOST_AUTO_TEST_CASE(slots_that_go_back_anywhere_ignore_checkpoints) {
  one_after_another a(sharing_limits(8));
  a.serve(prompt(100, 10, 1), {.release_at_end = true}, {40, 80});
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 1);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_shares_nothing_leaves_nothing_at_checkpoints) {
  one_after_another a(sharing_limits(8, 0));
  a.serve(prompt(100, 10, 1), {.prefix_caching = false, .release_at_end = true}, {40, 80});
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 0);
}

BOOST_AUTO_TEST_CASE(checkpoints_must_ascend) {
  served s(sharing_limits(2, 0));
  BOOST_CHECK_THROW(ask(s, counting(10), {}, {8, 4}), std::invalid_argument);
  BOOST_CHECK_THROW(ask(s, counting(10), {}, {-1, 4}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(nothing_is_shared_with_another_cache_salt_or_by_those_that_do_not_want_to) {
  one_after_another a;
  a.serve(prompt(100, 10, 1));
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 2), {.cache_salt = 7, .release_at_end = true}), 110);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 3), {.cache_salt = 7, .release_at_end = true}), 10);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 4), {.prefix_caching = false, .release_at_end = true}), 110);
  one_after_another none;
  none.serve(prompt(100, 10, 1), {.prefix_caching = false, .release_at_end = true});
  BOOST_CHECK_EQUAL(none.s.sched.prefix_cached_slots(), 0);
  BOOST_CHECK_EQUAL(none.serve(prompt(100, 10, 2)), 110);
  served together(sharing_limits(4));
  for (int i = 1; i < 5; ++i)
    ask(together, prompt(600, 10, i), {.cache_salt = static_cast<std::uint64_t>(i % 2), .release_at_end = true});
  BOOST_CHECK_EQUAL(prompt_tokens_run(together), 2 * 600 + 4 * 10);
}

BOOST_AUTO_TEST_CASE(less_than_a_block_is_not_worth_sharing) {
  one_after_another a;
  a.serve(prompt(3, 10, 1));
  BOOST_CHECK_EQUAL(a.serve(prompt(3, 10, 2)), 13);
  BOOST_CHECK_EQUAL(a.serve(prompt(4, 10, 3)), 14);
  BOOST_CHECK_EQUAL(a.serve(prompt(4, 10, 4)), 10);
}

BOOST_DATA_TEST_CASE(sixteen_tokens_of_a_longer_block_are_worth_sharing, boost::unit_test::data::make({anywhere, 0}),
                     max_rollback_tokens) {
  auto within = sharing_limits(4, max_rollback_tokens);
  within.usage.block = 64;
  one_after_another a(within);
  for (const int common : {15, 16}) {
    const auto prompt = [&](int seq) { return joined(counting(common, 100 * common), counting(10, 5000 * seq)); };
    a.serve(prompt(1), {.release_at_end = true}, {common});
    BOOST_CHECK_EQUAL(a.serve(prompt(2)), common < 16 ? common + 10 : 10);
  }
}

/// But not worth waiting for.
BOOST_AUTO_TEST_CASE(prompts_that_share_less_than_a_block_run_together) {
  auto within = sharing_limits(2);
  within.usage.block = 64;
  served s(within);
  for (int seq = 1; seq <= 2; ++seq) ask(s, prompt(40, 10, seq));
  BOOST_CHECK_EQUAL(s.step().rows.size(), 2);
}

/// Logits of tokens that another one has run would be missing.
BOOST_AUTO_TEST_CASE(tokens_whose_logits_are_wanted_are_run) {
  served s(sharing_limits(2));
  const auto first = s.sched.submit({}, {counting(100), output::last_logits});
  const auto second = s.sched.submit({}, {counting(100), output::all_logits});
  BOOST_CHECK_EQUAL(prompt_tokens_run(s), 200);
  BOOST_CHECK_EQUAL(s.sched.prefix_hit_tokens(second), 0);
  s.sched.cancel(first);
  s.sched.cancel(second);
  const auto third = s.sched.submit({}, {counting(101), output::last_logits});
  BOOST_CHECK_EQUAL(prompt_tokens_run(s), 0);  // but for its last token
  BOOST_CHECK_EQUAL(s.sched.prefix_hit_tokens(third), 100);
}

BOOST_AUTO_TEST_CASE(one_that_is_run_again_shares_all_but_those_whose_logits_are_wanted) {
  served s(sharing_limits(2));
  const auto seq = prefilled(s, 50);
  s.sched.suspend(seq);  // and nothing is swapped out
  s.finish();
  s.sched.submit({}, {counting(100), output::last_logits});
  s.finish();
  s.sched.start(seq, {counting(50, 50), output::all_logits});
  BOOST_CHECK_EQUAL(prompt_tokens_run(s), 50);
}

BOOST_AUTO_TEST_CASE(it_reports_how_many_tokens_were_not_run) {
  served s(sharing_limits(3));
  const auto first = ask(s, prompt(100, 10, 1), {});
  s.finish();
  const auto second = ask(s, prompt(100, 10, 2), {});
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.prefix_hit_tokens(first), 0);
  BOOST_CHECK_EQUAL(s.sched.prefix_hit_tokens(second), 100);
  ask(s, prompt(50, 10, 3));
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.prefix_hit_tokens(), 100 + 50);
  BOOST_CHECK_THROW(s.sched.prefix_hit_tokens(sequence_id{99}), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(what_is_kept_makes_room_and_the_one_used_longest_ago_goes_first) {
  auto within = sharing_limits(2);
  within.memory_bytes = 3 * within.usage(112);
  one_after_another a(within);
  for (int i = 1; i <= 3; ++i) a.serve(prompt(0, 110, i));
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 3);
  BOOST_CHECK_EQUAL(a.serve(prompt(0, 110, 1)), 0);  // but for its last token
  BOOST_CHECK_EQUAL(a.serve(prompt(0, 110, 4)), 110);
  BOOST_CHECK_EQUAL(a.serve(prompt(0, 110, 1)), 0);
  BOOST_CHECK_EQUAL(a.serve(prompt(0, 110, 2)), 110);
}

BOOST_AUTO_TEST_CASE(no_sequence_waits_for_a_slot_that_others_only_read) {
  served s(sharing_limits(2));
  const auto leaves = ask(s, prompt(100, 10, 1));
  s.step();
  const auto reads = s.sched.submit({}, {prompt(100, 10, 2), output::sample, 0});
  s.sched.grant(reads, 1);
  s.finish();
  BOOST_CHECK(s.count(leaves, event::kind::finished) == 1 && s.sched.scheduled(reads));
  const auto comes = ask(s, prompt(0, 110, 3));
  BOOST_CHECK(row_of(s.step(), comes));
}

BOOST_AUTO_TEST_CASE(all_that_is_kept_can_be_forgotten) {
  one_after_another a;
  for (int i = 1; i <= 3; ++i) a.serve(prompt(100, 10, i));
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_bytes(), a.s.sched.memory_in_use());
  a.s.sched.drop_prefix_cache();
  a.s.finish();
  BOOST_CHECK_EQUAL(a.s.sched.prefix_cached_slots(), 0);
  BOOST_CHECK_EQUAL(a.s.sched.memory_in_use(), 0);
  BOOST_CHECK_EQUAL(a.s.runner.cache().bytes(), 0);
  BOOST_CHECK_EQUAL(a.serve(prompt(100, 10, 4)), 110);
}

BOOST_AUTO_TEST_CASE(one_that_waits_for_another_goes_on_alone_when_that_one_has_gone) {
  served s(sharing_limits(2));
  const auto leader = ask(s, prompt(1000, 10, 1));
  const auto follower = ask(s, prompt(1000, 10, 2));
  s.step();
  const auto plan = s.step();
  BOOST_CHECK(row_of(plan, leader) && !row_of(plan, follower));
  BOOST_CHECK(s.sched.awaits_prefix(follower) && !s.sched.awaits_prefix(leader));
  s.sched.cancel(leader);
  const auto next = s.step();
  BOOST_REQUIRE(row_of(next, follower));
  BOOST_CHECK(!s.sched.awaits_prefix(follower));
  s.finish();
  BOOST_CHECK(s.sampled(follower) == alone(prompt(1000, 10, 2), 2));
  BOOST_CHECK_EQUAL(s.sched.live(), 0);
}

BOOST_AUTO_TEST_CASE(one_that_waits_for_another_can_go_at_any_time) {
  for (int steps = 1; steps < 5; ++steps) {
    served s(sharing_limits(2));
    const auto leader = ask(s, prompt(1000, 10, 1));
    const auto follower = ask(s, prompt(1000, 10, 2));
    for (int i = 0; i < steps; ++i) s.step();
    s.sched.cancel(follower);
    s.finish();
    s.sched.verify();
    BOOST_CHECK(s.sampled(leader) == alone(prompt(1000, 10, 1), 2));
    BOOST_CHECK_EQUAL(s.sched.free_slots(), 2);
  }
}

BOOST_AUTO_TEST_CASE(one_that_waits_for_another_and_is_abandoned_can_do_something_else) {
  served s(sharing_limits(2));
  ask(s, prompt(1000, 10, 1));
  const auto follower = s.sched.submit({}, {prompt(1000, 10, 2), output::last_logits});
  s.step();
  s.step();
  BOOST_REQUIRE(s.sched.awaits_prefix(follower));
  s.sched.abandon(follower);
  BOOST_CHECK(!s.sched.awaits_prefix(follower));
  s.sched.start(follower, {{7}, output::last_logits});
  BOOST_CHECK(row_of(s.step(), follower));
  s.finish();
}

BOOST_AUTO_TEST_CASE(a_sequence_that_comes_back_from_the_host_takes_what_is_longer) {
  auto within = sharing_limits(1);
  within.idle_timeout = time(0);
  within.swap_bytes = 1'000'000;
  served s(within);
  const auto id = s.sched.submit({}, {counting(20), output::last_logits});
  s.finish();
  s.sched.suspend(id);
  s.step();
  s.end_transfers();
  ask(s, counting(60));
  s.finish();
  s.sched.start(id, {counting(40, 20), output::last_logits});
  const auto plan = s.step();
  BOOST_REQUIRE(row_of(plan, id));
  BOOST_CHECK_EQUAL(row_of(plan, id)->count, 1);
  BOOST_CHECK_EQUAL(plan.drops.size() + s.step().drops.size(), 1);
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(what_a_sequence_is_about_to_forget_is_not_shared_any_more) {
  served s(sharing_limits(2));
  const auto id = s.sched.submit({}, {counting(100), output::last_logits});
  s.finish();
  s.sched.truncate(id, 50);
  const auto other = ask(s, prompt(90, 10, 1));
  s.sched.start(id, {counting(5, 700), output::last_logits});
  const auto plan = s.step();
  BOOST_REQUIRE(row_of(plan, id) && row_of(plan, other));
  BOOST_CHECK_EQUAL(row_of(plan, other)->count, 50);
}

BOOST_AUTO_TEST_CASE(no_reader_makes_one_move_that_goes_on_from_fewer_tokens) {
  served s(sharing_limits(3));
  const auto id = s.sched.submit({}, {counting(100), output::last_logits});
  const int slot = row_of(s.step(), id)->slot;
  s.sched.truncate(id, 50);
  const auto other = ask(s, prompt(90, 10, 1));
  BOOST_CHECK_EQUAL(row_of(s.step(), other)->count, 50);
  s.sched.start(id, {counting(5, 700), output::last_logits});
  const auto plan = s.step();
  BOOST_REQUIRE(row_of(plan, id));
  BOOST_CHECK_EQUAL(row_of(plan, id)->slot, slot);
}

BOOST_AUTO_TEST_CASE(what_a_fork_copies_from_is_not_given_up_to_make_room_for_it) {
  auto within = sharing_limits(3, 16);
  within.spare_slots = 0;
  served s(within);
  ask(s, prompt(104, 6, 1));
  s.finish();
  const auto parent = s.sched.submit({}, {prompt(104, 10, 2), output::last_logits});  // reads 104 tokens of the first
  s.finish();
  ask(s, counting(20, 700));
  s.finish();
  BOOST_REQUIRE_EQUAL(s.sched.prefix_cached_slots(), 2);
  s.sched.truncate(parent, 102);
  const auto child = s.sched.fork(parent);
  BOOST_CHECK(s.sched.scheduled(child));
  s.sched.start(child, {{7}, output::sample, 2, 2});
  const auto plan = s.step();
  BOOST_CHECK(plan.releases.empty());
  BOOST_CHECK_EQUAL(plan.forks.size(), 1);
  BOOST_REQUIRE(row_of(plan, child));
  BOOST_CHECK_EQUAL(row_of(plan, child)->count, 1);
  s.finish();
  BOOST_CHECK(s.sampled(child) == alone(joined(counting(102), {7}), 2));
}

BOOST_AUTO_TEST_CASE(nothing_delays_a_sequence_that_runs_its_last_token_again) {
  served s(sharing_limits(8));
  const auto id = s.sched.submit({}, {counting(99), output::last_logits});
  s.finish();
  s.sched.start(id, {{}, output::sample, 2});
  const auto other = ask(s, prompt(99, 10, 1));
  const auto plan = s.step();
  BOOST_REQUIRE(row_of(plan, id) && row_of(plan, other));
  BOOST_CHECK_EQUAL(row_of(plan, id)->count, 1);
  BOOST_CHECK_EQUAL(row_of(plan, other)->count, 11);
}

BOOST_AUTO_TEST_CASE(spare_slots_are_limited_by_name) {
  auto within = sharing_limits(2);
  within.spare_slots = -1;
  BOOST_CHECK_EXCEPTION(scheduler{within}, std::invalid_argument, [](const std::invalid_argument& error) {
    return std::string(error.what()) == "limits.spare_slots is -1; it must be at least 0";
  });
}

BOOST_AUTO_TEST_CASE(no_sequence_is_preempted_for_a_slot_that_can_be_evicted_after_the_plan_in_flight) {
  auto within = sharing_limits(2);
  within.spare_slots = 0;
  within.depth = 2;
  within.idle_timeout = time(0);
  served s(within);
  const auto idle = prefilled(s, 9);
  s.sched.submit({.end_tokens = alone(counting(20, 100), 1), .release_at_end = true},
                 {counting(20, 100), output::sample, 9});
  s.launch();
  s.launch();
  const auto waits = ask(s, counting(20, 200));
  s.absorb();
  BOOST_CHECK_EQUAL(s.sched.prefix_cached_slots(), 1);
  BOOST_CHECK(s.launch().rows.empty());
  BOOST_CHECK(s.sched.scheduled(idle));
  s.absorb();
  BOOST_CHECK(row_of(s.launch(), waits));
}

BOOST_AUTO_TEST_CASE(nor_for_memory_of_a_slot_that_only_such_a_one_reads) {
  auto within = sharing_limits(4);
  within.depth = 2;
  within.idle_timeout = time(0);
  within.memory_bytes = 150;
  served s(within);
  ask(s, prompt(100, 6, 1));
  s.finish();
  const auto idle = s.sched.submit({.max_sequence_length = 12}, {counting(9, 800), output::last_logits});
  s.finish();
  const auto second = prompt(100, 3, 2);
  s.sched.submit({.end_tokens = alone(second, 1), .max_new_tokens = 9, .release_at_end = true},
                 {second, output::sample, 9});
  s.launch();
  s.launch();
  const auto waits = s.sched.submit({.max_sequence_length = 120}, {counting(20, 900), output::last_logits});
  s.absorb();
  BOOST_CHECK_EQUAL(s.sched.prefix_cached_slots(), 2);
  BOOST_CHECK(s.launch().rows.empty());
  BOOST_CHECK(s.sched.scheduled(idle));
  s.absorb();
  s.absorb();  // what the first one held beyond its reader was given up at once
  BOOST_CHECK(row_of(s.step(), waits));
  BOOST_CHECK_EQUAL(s.sched.preempted(), 0);
}

BOOST_AUTO_TEST_CASE(a_slot_is_kept_from_a_whole_block_on) {
  for (const int tokens : {3, 4}) {
    served s(sharing_limits(2));
    s.sched.submit({.release_at_end = true}, {counting(tokens), output::last_logits});
    s.finish();
    BOOST_CHECK_EQUAL(s.sched.prefix_cached_slots(), tokens / 4);
  }
}

BOOST_AUTO_TEST_CASE(one_that_parts_where_its_leader_cannot_be_shared_any_more_does_not_wait) {
  auto within = sharing_limits(4, 4);
  within.max_batched_tokens = 40;
  served s(within);
  s.sched.submit({}, {prompt(8, 60, 1), output::last_logits});
  s.step();
  const auto parts = s.sched.submit({}, {prompt(8, 20, 2), output::last_logits});
  const auto plan = s.step();
  BOOST_CHECK(!s.sched.awaits_prefix(parts));
  BOOST_CHECK(row_of(plan, parts));
}

BOOST_AUTO_TEST_CASE(a_slot_is_taken_over_that_is_as_long_as_the_sequence_may_be) {
  auto within = sharing_limits(1);
  within.spare_slots = 0;
  served s(within);
  s.sched.submit({.release_at_end = true}, {counting(12), output::last_logits});
  s.finish();
  const auto again = s.sched.submit({.max_sequence_length = 12}, {counting(12), output::last_logits});
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.prefix_hit_tokens(again), 11);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
