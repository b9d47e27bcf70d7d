// What is swapped out comes back less than exact: it takes less room, is reported, and no other sequence shares it.
#include "scheduler/served.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>
#include <string>

namespace cogen::scheduler {
namespace {

constexpr int anywhere = std::numeric_limits<int>::max();
constexpr bool exact = true, inexact = false;

limits swap_limits(bool mode, int max_rollback_tokens = anywhere) {
  auto within = roomy();
  within.slots = within.spare_slots = 4;
  within.prefix_caching = true;
  within.max_rollback_tokens = max_rollback_tokens;
  within.swap_bytes = 1'000'000;
  within.exact_swaps = mode;
  if (mode == inexact) within.swap_usage = slot_footprint{1, 2, 4};
  return within;
}

/// An idle sequence of so many tokens that was preempted and has come back, and has sampled one token since.
sequence_id swapped_in(served& s, int count) {
  const auto id = prefilled(s, count);
  s.sched.suspend(id);
  s.finish();
  s.sched.start(id, {{}, output::sample, 1, 1});
  s.finish();
  return id;
}

/// Tokens run for a new sequence of so many.
int run_for(served& s, int count) {
  const auto id = s.sched.submit({.release_at_end = true}, {counting(count), output::last_logits});
  int tokens = 0;
  for (step plan = s.step(); !plan.empty(); plan = s.step()) tokens += tokens_in(plan);
  BOOST_CHECK_EQUAL(s.count(id, event::kind::logits), 1);
  return tokens;
}

}  // namespace

BOOST_AUTO_TEST_CASE(only_one_that_was_restored_inexactly_is_exact_no_more) {
  for (const bool mode : {exact, inexact}) {
    served s(swap_limits(mode));
    const auto other = prefilled(s, 5);
    const auto id = prefilled(s, 9);
    s.sched.suspend(id);
    s.finish();
    BOOST_CHECK(s.sched.exact(id));
    BOOST_CHECK_EQUAL(s.sched.stored(id).value().snapshot.exact, mode);
    s.sched.start(id, {{}, output::sample, 1, 1});
    BOOST_REQUIRE_EQUAL(s.step().swap_ins.size(), 1u);
    BOOST_CHECK(s.sched.exact(id));
    s.end_transfers();
    BOOST_CHECK_EQUAL(s.sched.exact(id), mode);
    BOOST_CHECK(s.sched.exact(other));
  }
  BOOST_CHECK_THROW(served(roomy()).sched.exact(sequence_id{1}), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(one_whose_snapshot_is_lost_or_finds_no_room_stays_exact) {
  for (const int lost : {0, 1, 2}) {
    auto within = swap_limits(inexact);
    if (lost == 0) within.swap_bytes = within.swapped_out(9) - 1;
    served s(within);
    const auto id = prefilled(s, 9);
    s.sched.suspend(id);
    s.step();
    s.end_transfers(lost != 1);
    s.sched.start(id, {{}, output::sample, 3, 3});
    s.step();
    s.end_transfers(lost != 2);
    s.finish();
    BOOST_CHECK(s.sched.exact(id));
    BOOST_CHECK(s.sampled(id) == alone(counting(9), 3));
  }
}

BOOST_AUTO_TEST_CASE(what_is_swapped_out_counts_as_it_is_kept) {
  auto within = swap_limits(inexact);
  within.swap_bytes = within.swapped_out(9);
  BOOST_REQUIRE_LT(within.swapped_out(9), within.usage(9));
  served s(within);
  const auto id = prefilled(s, 9);
  s.sched.suspend(id);
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), within.swapped_out(9));
  BOOST_CHECK_EQUAL(s.sched.swapped_out(), 1u);
  s.sched.cancel(id);
  s.step();
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), 0);
  BOOST_CHECK_EQUAL(roomy().swapped_out(9), roomy().usage(9));
}

BOOST_AUTO_TEST_CASE(a_snapshot_from_elsewhere_counts_whole) {
  for (const int missing : {1, 0}) {
    auto within = swap_limits(inexact);
    within.swap_bytes = within.usage(9) - missing;
    served s(within);
    const auto id = s.sched.resume({}, {counting(9), 0, snapshot{9, 9, 9}});
    BOOST_CHECK_EQUAL(s.sched.stored(id).has_value(), missing == 0);
    BOOST_CHECK_EQUAL(s.sched.swap_in_use(), missing == 0 ? within.usage(9) : 0);
  }
}

BOOST_AUTO_TEST_CASE(no_sequence_shares_what_was_restored_inexactly) {
  for (const int max_rollback_tokens : {anywhere, 8, 0})
    for (const bool mode : {exact, inexact}) {
      served s(swap_limits(mode, max_rollback_tokens));
      const auto id = swapped_in(s, 40);
      BOOST_CHECK_EQUAL(run_for(s, 60), mode == exact ? 20 : 60);
      s.sched.cancel(id);
      s.finish();
      BOOST_CHECK_EQUAL(s.sched.prefix_cached_slots(), mode == exact ? 2 : 1);
    }
}

BOOST_AUTO_TEST_CASE(nor_with_what_it_runs_after_that_nor_with_what_a_fork_of_it_does) {
  for (const bool mode : {exact, inexact}) {
    served s(swap_limits(mode));
    const auto id = swapped_in(s, 9);
    const auto child = s.sched.fork(id);
    s.sched.truncate(id, 0);
    for (const auto each : {id, child}) {
      BOOST_CHECK_EQUAL(s.sched.exact(each), mode);
      if (each == child) s.sched.truncate(child, 0);
      s.sched.start(each, {counting(40, 100), output::last_logits});
      s.finish();
      s.sched.cancel(each);
    }
    s.finish();
    BOOST_CHECK_EQUAL(s.sched.prefix_cached_slots() > 0, mode);
  }
}

BOOST_AUTO_TEST_CASE(no_sequence_waits_for_an_inexact_one_and_nothing_of_it_is_kept_where_prompts_diverge) {
  for (const int max_rollback_tokens : {anywhere, 0}) {
    served s(swap_limits(exact, max_rollback_tokens));
    const auto prompt = [](token last) { return joined(counting(40), counting(10, last)); };
    const auto first = s.sched.resume({}, {{}, 0, {}, inexact});
    s.sched.start(first, {prompt(100), output::last_logits});
    const auto second = s.sched.submit({}, {prompt(200), output::last_logits});
    int tokens = 0;
    for (step plan = s.step(); !plan.empty(); plan = s.step()) {
      tokens += tokens_in(plan);
      BOOST_CHECK(!s.sched.awaits_prefix(second));
    }
    BOOST_CHECK_EQUAL(tokens, 100);
    BOOST_CHECK_EQUAL(s.sched.prefix_cached_slots(), 0);
    BOOST_CHECK(!s.sched.exact(first));
    BOOST_CHECK(s.sched.exact(second));
  }
}

BOOST_AUTO_TEST_CASE(it_begins_itself_with_what_others_have_run) {
  served s(swap_limits(inexact));
  const auto id = swapped_in(s, 9);
  BOOST_CHECK_EQUAL(run_for(s, 60), 60);
  s.sched.truncate(id, 0);
  s.sched.start(id, {counting(61), output::last_logits});
  BOOST_CHECK_EQUAL(tokens_in(s.step()), 1);
  BOOST_CHECK(!s.sched.exact(id));
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_slot_is_exact_and_a_past_that_was_not_stays_so) {
  served s(swap_limits(inexact));
  const auto id = swapped_in(s, 9);
  BOOST_CHECK(s.sched.copy_out(id).value().snapshot.exact);
  const auto past_of = [](bool snapshot_is, bool it_was) {
    return resume_state{counting(9), 0, snapshot{9, 9, 9, snapshot_is}, it_was};
  };
  for (const auto& [snapshot_is, it_was] : {std::pair{exact, exact}, {exact, inexact}, {inexact, exact}}) {
    served other(swap_limits(exact));
    const auto opened = other.sched.resume({}, past_of(snapshot_is, it_was));
    BOOST_CHECK_EQUAL(other.sched.exact(opened), it_was);
    BOOST_CHECK_EQUAL(other.sched.stored(opened).value().snapshot.exact, snapshot_is);
    other.runner.keep(other.sched.stored(opened)->name, {counting(9), {}, 9});
    check_continues(other, opened, counting(9));
    BOOST_CHECK_EQUAL(other.sched.exact(opened), snapshot_is && it_was);
  }
}

}  // namespace cogen::scheduler
