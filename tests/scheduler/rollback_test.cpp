// Slots that cannot go back to every length: who is cut, and who runs again from the first token.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

namespace cogen::scheduler {
namespace {

/// Blocks of 4 tokens of a byte each, and slots that go back 4 tokens.
limits forgetful(int max_rollback_tokens = 4) {
  auto within = roomy();
  within.max_rollback_tokens = max_rollback_tokens;
  return within;
}

/// What the plan cuts and runs for a sequence that goes on with `more`.
step go_on(served& s, sequence_id id, const std::vector<token>& more) {
  s.sched.start(id, {more, output::last_logits});
  const auto step = s.step();
  BOOST_REQUIRE(row_of(step, id));
  return step;
}

void check_cut(const step& step, int slot, int length) {
  BOOST_REQUIRE_EQUAL(step.truncations.size(), 1);
  BOOST_CHECK_EQUAL(step.truncations[0].slot, slot);
  BOOST_CHECK_EQUAL(step.truncations[0].length, length);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_cut_within_the_rollback_limit_keeps_the_rest) {
  for (const int length : {9, 6}) {
    served s(forgetful());
    const auto id = prefilled(s, 10);
    s.sched.truncate(id, length);
    const auto step = go_on(s, id, {50, 51});
    check_cut(step, row_of(step, id)->slot, length);
    BOOST_CHECK(tokens_of(step, id) == std::vector<token>({50, 51}));
    check_continues(s, id, joined(counting(length), {50, 51}));
  }
}

BOOST_AUTO_TEST_CASE(a_cut_beyond_it_runs_everything_again) {
  for (const int length : {5, 1}) {
    served s(forgetful());
    const auto id = prefilled(s, 10);
    s.sched.truncate(id, length);
    const auto step = go_on(s, id, {50, 51});
    check_cut(step, row_of(step, id)->slot, 0);
    BOOST_CHECK(tokens_of(step, id) == joined(counting(length), {50, 51}));
    BOOST_CHECK_EQUAL(row_of(step, id)->count, length + 2);
    check_continues(s, id, joined(counting(length), {50, 51}));
  }
}

BOOST_AUTO_TEST_CASE(without_rollback_limit_every_cut_runs_everything_again) {
  served s(forgetful(0));
  const auto id = prefilled(s, 10);
  s.sched.truncate(id, 9);
  const auto step = go_on(s, id, {50});
  check_cut(step, row_of(step, id)->slot, 0);
  BOOST_CHECK_EQUAL(row_of(step, id)->count, 10);
  check_continues(s, id, joined(counting(9), {50}));
}

BOOST_AUTO_TEST_CASE(what_runs_again_comes_in_chunks_like_any_prompt) {
  auto within = forgetful();
  within.max_batched_tokens = 6;
  served s(within);
  const auto id = prefilled(s, 30);
  s.sched.truncate(id, 20);
  const auto step = go_on(s, id, {50, 51});
  check_cut(step, row_of(step, id)->slot, 0);
  BOOST_CHECK(tokens_of(step, id) == counting(6));
  s.finish();
  BOOST_CHECK_EQUAL(s.runner.cache().length(row_of(step, id)->slot), 22);
  check_continues(s, id, joined(counting(20), {50, 51}));
}

BOOST_AUTO_TEST_CASE(rollback_limit_is_counted_from_the_most_that_a_slot_has_held) {
  served s(forgetful());
  const auto id = prefilled(s, 10);
  s.sched.truncate(id, 7);
  go_on(s, id, {50});
  s.sched.truncate(id, 6);
  auto step = go_on(s, id, {51});
  check_cut(step, row_of(step, id)->slot, 6);
  s.sched.truncate(id, 5);  // within 4 of the 7 it holds, not of the 10 it has held
  step = go_on(s, id, {52});
  check_cut(step, row_of(step, id)->slot, 0);
  s.sched.truncate(id, 2);  // 6 have been held since
  step = go_on(s, id, {53});
  check_cut(step, row_of(step, id)->slot, 2);
  check_continues(s, id, joined(counting(2), {53}));
}

BOOST_AUTO_TEST_CASE(a_slot_that_others_have_used_begins_with_its_own_reach) {
  auto within = forgetful();
  within.slots = 1;
  served s(within);
  s.sched.cancel(prefilled(s, 30));
  const auto id = prefilled(s, 6);
  s.sched.truncate(id, 2);
  const auto step = go_on(s, id, {50});
  check_cut(step, 0, 2);
  BOOST_CHECK_EQUAL(row_of(step, id)->count, 1);
}

BOOST_AUTO_TEST_CASE(a_fork_of_a_slot_that_cannot_return_begins_from_nothing) {
  served s(forgetful());
  const auto parent = prefilled(s, 10);
  s.sched.truncate(parent, 5);
  const auto child = s.sched.fork(parent);
  const auto step = go_on(s, child, {50});
  BOOST_CHECK(step.forks.empty());
  BOOST_CHECK(tokens_of(step, child) == joined(counting(5), {50}));
  check_continues(s, child, joined(counting(5), {50}));
  check_continues(s, parent, counting(5));
}

BOOST_AUTO_TEST_CASE(a_fork_of_a_slot_that_can_return_begins_there) {
  served s(forgetful());
  const auto parent = prefilled(s, 10);
  s.sched.truncate(parent, 6);
  const auto child = s.sched.fork(parent);
  const auto step = go_on(s, child, {50});
  BOOST_REQUIRE_EQUAL(step.forks.size(), 1);
  BOOST_CHECK_EQUAL(step.forks[0].shared, 4);
  BOOST_CHECK_EQUAL(step.forks[0].end, 6);
  BOOST_CHECK_EQUAL(row_of(step, child)->count, 1);
  check_continues(s, child, joined(counting(6), {50}));
  check_continues(s, parent, counting(6));
}

BOOST_AUTO_TEST_CASE(a_child_cut_beyond_the_rollback_limit_runs_again_and_its_parent_does_not) {
  for (const bool filled : {false, true}) {
    served s(forgetful());
    const auto parent = prefilled(s, 14);
    const auto child = s.sched.fork(parent);
    if (filled) s.step();
    s.sched.truncate(child, 6);
    const auto step = go_on(s, child, {50});
    BOOST_CHECK_EQUAL(row_of(step, child)->count, 7);
    BOOST_CHECK(step.forks.empty());
    check_continues(s, child, joined(counting(6), {50}));
    BOOST_CHECK_EQUAL(go_on(s, parent, {60}).rows[0].count, 1);
    check_continues(s, parent, joined(counting(14), {60}));
  }
}

BOOST_AUTO_TEST_CASE(a_parent_that_cannot_move_its_tokens_runs_them_again_elsewhere) {
  served s(forgetful());
  const auto parent = prefilled(s, 14);
  const auto child = s.sched.fork(parent);
  s.step();
  s.sched.truncate(parent, 6);
  const auto step = go_on(s, parent, {40});
  BOOST_CHECK(row_of(step, parent)->slot != 0);
  BOOST_CHECK(step.forks.empty());
  BOOST_CHECK(tokens_of(step, parent) == joined(counting(6), {40}));
  check_continues(s, parent, joined(counting(6), {40}));
  check_continues(s, child, counting(14));
}

BOOST_AUTO_TEST_CASE(an_orphan_is_not_released_before_another_slot_begins_with_it) {
  served s(forgetful());
  const auto parent = prefilled(s, 10);
  const auto child = s.sched.fork(parent);
  s.step();
  s.sched.truncate(child, 8);
  const auto grandchild = s.sched.fork(child);
  s.sched.cancel(parent);
  const auto step = go_on(s, grandchild, {50});
  BOOST_CHECK(step.releases.empty());
  BOOST_CHECK_EQUAL(step.forks.size(), 1);
  BOOST_CHECK_EQUAL(row_of(step, grandchild)->count, 1);
  const auto next = go_on(s, grandchild, {51});
  BOOST_REQUIRE_EQUAL(next.releases.size(), 1);
  BOOST_CHECK_EQUAL(next.releases[0].length, 8);
  check_continues(s, grandchild, joined(counting(8), {50, 51}));
}

BOOST_AUTO_TEST_CASE(no_sequence_shares_a_released_slot) {
  served s(forgetful(64));
  const auto parent = prefilled(s, 10);
  const auto child = s.sched.fork(parent);
  s.step();
  s.sched.cancel(parent);
  s.finish();
  BOOST_CHECK_EQUAL(s.runner.cache().length(0), 8);
  s.sched.truncate(child, 9);
  auto step = go_on(s, child, {50});
  BOOST_CHECK_EQUAL(row_of(step, child)->count, 1);
  s.sched.truncate(child, 6);  // tokens of its base, which is no longer whole
  const auto other = s.sched.fork(child);
  step = go_on(s, other, {60});
  BOOST_CHECK(tokens_of(step, other) == joined(counting(6), {60}));
  check_continues(s, other, joined(counting(6), {60}));
  check_continues(s, child, counting(6));
}

BOOST_AUTO_TEST_CASE(a_fork_goes_back_no_further_than_what_it_was_copied_from) {
  for (const int length : {6, 5}) {
    served s(forgetful());
    const auto parent = prefilled(s, 10);
    s.sched.truncate(parent, 7);
    const auto child = s.sched.fork(parent);
    go_on(s, child, {50});
    s.sched.truncate(child, length);
    const auto step = go_on(s, child, {51});
    BOOST_CHECK_EQUAL(row_of(step, child)->count, length == 6 ? 1 : 6);
    check_continues(s, child, joined(counting(length), {51}));
    check_continues(s, parent, counting(7));
  }
}

BOOST_AUTO_TEST_CASE(what_a_fork_was_cut_to_before_it_was_filled_goes_back_as_far) {
  served s(forgetful());
  const auto parent = prefilled(s, 10);
  const auto child = s.sched.fork(parent);
  s.sched.truncate(child, 8);
  go_on(s, child, {50});
  s.sched.truncate(child, 5);
  const auto step = go_on(s, child, {51});
  BOOST_CHECK_EQUAL(row_of(step, child)->count, 6);
  check_continues(s, child, joined(counting(5), {51}));
}

BOOST_AUTO_TEST_CASE(what_was_restored_goes_back_as_far_as_the_slot_did) {
  for (const int length : {8, 6, 5}) {
    auto within = forgetful();
    within.swap_bytes = 1000;
    served s(within, {.window = 3, .max_step_tokens = within.max_batched_tokens, .max_rollback_tokens = 4});
    const auto id = prefilled(s, 10);
    s.sched.truncate(id, 9);
    s.sched.suspend(id);
    s.finish();
    s.sched.truncate(id, length);
    s.sched.start(id, {{51}, output::last_logits});
    BOOST_CHECK_EQUAL(s.step().swap_ins.size(), 1);
    s.end_transfers();
    const auto step = s.step();
    check_cut(step, row_of(step, id)->slot, length == 5 ? 0 : length);
    BOOST_CHECK_EQUAL(row_of(step, id)->count, length == 5 ? 6 : 1);
    check_continues(s, id, joined(counting(length), {51}));
  }
}

BOOST_AUTO_TEST_CASE(what_was_restored_goes_back_any_way_where_the_slot_did) {
  auto within = roomy();
  within.swap_bytes = 1000;
  served s(within, {.window = 3, .max_step_tokens = within.max_sequence_length, .max_rollback_tokens = 2});
  const auto id = prefilled(s, 30);
  s.sched.suspend(id);
  s.finish();
  s.sched.truncate(id, 4);
  s.sched.start(id, {{51}, output::last_logits});
  s.step();
  s.end_transfers();
  const auto step = s.step();
  check_cut(step, row_of(step, id)->slot, 4);
  BOOST_CHECK_EQUAL(row_of(step, id)->count, 1);
  check_continues(s, id, joined(counting(4), {51}));
}

BOOST_AUTO_TEST_CASE(a_footprint_counts_capped_blocks_up_to_their_cap) {
  const slot_footprint usage{.fixed = 10, .per_block = 4, .block = 4, .capped = {{100, 2}, {1000, 1}}};
  BOOST_CHECK_EQUAL(usage(0), 0);
  BOOST_CHECK_EQUAL(usage(1), 10 + 4 + 100 + 1000);
  BOOST_CHECK_EQUAL(usage(4), 10 + 4 + 100 + 1000);
  BOOST_CHECK_EQUAL(usage(5), 10 + 8 + 200 + 1000);
  BOOST_CHECK_EQUAL(usage(9), 10 + 12 + 200 + 1000);
  BOOST_CHECK_EQUAL(usage(400), 10 + 400 + 200 + 1000);
}

BOOST_AUTO_TEST_CASE(a_footprint_counts_nothing_that_is_not_said) {
  const slot_footprint usage{.per_block = 1, .capped = {{.per_block = 5}, {.blocks = 5}}};
  BOOST_CHECK_EQUAL(usage(64), 1);
  BOOST_CHECK_EQUAL(usage(65), 2);
  BOOST_CHECK_EQUAL(slot_footprint{}(1000), 0);
}

BOOST_AUTO_TEST_CASE(forks_share_blocks_and_no_capped_ones) {
  auto within = forgetful();
  within.usage.capped = {{100, 2}};
  served s(within);
  const auto parent = s.sched.submit({.max_sequence_length = 40}, {counting(10), output::last_logits});
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 40 + 200);
  s.sched.fork(parent);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 2 * (40 + 200) - 8);
}

BOOST_AUTO_TEST_CASE(capped_blocks_are_held_against_the_budget) {
  auto within = forgetful();
  within.usage.capped = {{100, 2}};
  within.memory_bytes = 450;
  served s(within);
  const auto first = s.sched.submit({.max_sequence_length = 20}, {counting(10), output::last_logits});
  const auto second = s.sched.submit({.max_sequence_length = 20}, {counting(10), output::last_logits});
  const auto third = s.sched.submit({.max_sequence_length = 4}, {counting(4), output::last_logits});
  s.finish();
  BOOST_CHECK(s.sched.phase_of(first) == phase::idle);
  BOOST_CHECK(s.sched.phase_of(second) == phase::idle);
  BOOST_CHECK(s.sched.phase_of(third) == phase::waiting);
  s.sched.cancel(first);
  s.finish();
  BOOST_CHECK(s.sched.phase_of(third) == phase::idle);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 255}), std::length_error);
}

}  // namespace cogen::scheduler
