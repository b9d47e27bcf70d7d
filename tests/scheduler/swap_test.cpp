// What a preempted sequence has cached goes to the host and comes back, at its own pace, and may be lost on the way.
#include "scheduler/no_memory.hpp"
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <new>
#include <stdexcept>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(swapped_runs)
namespace {

/// No idle timeout, so many slots, and room for everything that is swapped out.
limits swapping_limits(int slots) {
  auto within = roomy();
  within.slots = slots;
  within.idle_timeout = time(0);
  within.swap_bytes = 1'000'000;
  return within;
}

sequence_id submit_stream(served& s, int first_token, int count) {
  return s.sched.submit({.max_new_tokens = count, .release_at_end = true},
                        {counting(5, first_token), output::sample, count});
}

/// One idle sequence of nine tokens, preempted for another one that samples one token; the swap out is on its way.
struct preempted_one {
  explicit preempted_one(const limits& within = swapping_limits(1)) : s(within) {
    idle = prefilled(s, 9);
    other = submit_stream(s, 20, 1);
    begun = s.step();
  }

  served s;
  sequence_id idle;
  sequence_id other;
  step begun;
};

void check_all_free(served& s) {
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 1);
  BOOST_CHECK_EQUAL(s.sched.memory_in_use(), 0);
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), 0);
  BOOST_CHECK_EQUAL(s.runner.cache().swapped_bytes(), 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_preempted_sequence_is_swapped_out_and_its_slot_free_when_that_has_ended) {
  preempted_one p;
  BOOST_REQUIRE_EQUAL(p.begun.swap_outs.size(), 1u);
  BOOST_CHECK(p.begun.swap_outs[0].sequence == p.idle);
  BOOST_CHECK_EQUAL(p.begun.swap_outs[0].length, 9);
  BOOST_CHECK(p.begun.rows.empty());
  BOOST_CHECK(p.s.step().empty());
  BOOST_CHECK_EQUAL(p.s.sched.swap_in_use(), roomy().usage(9));
  p.s.end_transfers();
  BOOST_CHECK(row_of(p.s.step(), p.other));
  BOOST_CHECK_EQUAL(p.s.sched.swapped_out(), 1u);
}

BOOST_AUTO_TEST_CASE(it_comes_back_with_all_that_it_had_cached) {
  preempted_one p;
  p.s.finish();
  p.s.sched.start(p.idle, {{}, output::sample, 3, 3});
  const auto back = p.s.step();
  BOOST_REQUIRE_EQUAL(back.swap_ins.size(), 1u);
  BOOST_CHECK(back.swap_ins[0].name == p.begun.swap_outs[0].name);
  BOOST_CHECK(back.rows.empty());
  BOOST_CHECK(p.s.sched.phase_of(p.idle) == phase::paused);
  p.s.end_transfers();
  BOOST_CHECK_EQUAL(tokens_in(p.s.step()), 1);
  p.s.finish();
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
  BOOST_CHECK_EQUAL(p.s.sched.swap_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(it_leaves_until_it_is_away_and_not_while_it_comes_back) {
  preempted_one p;
  BOOST_CHECK(p.s.sched.is_swapping_out(p.idle));
  BOOST_CHECK(!p.s.sched.is_swapping_out(p.other));
  p.s.end_transfers();
  BOOST_CHECK(!p.s.sched.is_swapping_out(p.idle));
  p.s.finish();
  p.s.sched.start(p.idle, {{}, output::sample, 3, 3});
  BOOST_REQUIRE_EQUAL(p.s.step().swap_ins.size(), 1u);
  BOOST_CHECK(!p.s.sched.is_swapping_out(p.idle));
  p.s.end_transfers();
  BOOST_CHECK(!p.s.sched.is_swapping_out(p.idle));
}

BOOST_AUTO_TEST_CASE(as_many_are_swapped_out_as_the_memory_of_one_takes) {
  auto within = swapping_limits(3);
  within.memory_bytes = 80;
  served s(within);
  for (int i = 0; i < 2; ++i) s.sched.submit({.max_sequence_length = 40}, {counting(9), output::last_logits});
  s.finish();
  const auto third = s.sched.submit({.max_sequence_length = 40}, {counting(9), output::last_logits});
  s.step();
  BOOST_CHECK_EQUAL(s.sched.preempted(), 1);
  BOOST_CHECK(s.step().empty());
  s.end_transfers();
  BOOST_CHECK(row_of(s.step(), third));
}

BOOST_AUTO_TEST_CASE(while_one_comes_back_the_others_go_on) {
  preempted_one p(swapping_limits(2));
  const auto runs = submit_stream(p.s, 40, 100);
  p.s.step();
  p.s.end_transfers();
  const auto third = submit_stream(p.s, 60, 2);
  for (int i = 0; i < 4; ++i) {
    p.s.step();
    p.s.end_transfers();
  }
  BOOST_CHECK_EQUAL(p.s.count(third, event::kind::token), 2);
  BOOST_REQUIRE(!p.s.sched.scheduled(p.idle));
  p.s.sched.start(p.idle, {{}, output::sample, 3, 3});
  const auto sampled = p.s.count(runs, event::kind::token);
  for (int i = 0; i < 5; ++i) BOOST_CHECK(row_of(p.s.step(), runs));
  BOOST_CHECK_EQUAL(p.s.count(runs, event::kind::token), sampled + 5);
  BOOST_CHECK_EQUAL(p.s.count(p.idle, event::kind::token), 0);
  p.s.end_transfers();
  for (int i = 0; i < 3; ++i) p.s.step();
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
}

BOOST_AUTO_TEST_CASE(what_is_lost_on_the_way_out_is_run_again) {
  preempted_one p;
  p.s.end_transfers(false);
  BOOST_CHECK_EQUAL(p.s.sched.swap_in_use(), 0);
  p.s.finish();
  check_continues(p.s, p.idle, counting(9));
}

BOOST_AUTO_TEST_CASE(what_is_lost_on_the_way_back_is_run_again_in_the_same_slot) {
  preempted_one p;
  p.s.finish();
  p.s.sched.start(p.idle, {{}, output::sample, 3, 3});
  p.s.step();
  p.s.end_transfers(false);
  BOOST_CHECK(p.s.sched.scheduled(p.idle));
  BOOST_CHECK_EQUAL(tokens_in(p.s.step()), 9);
  p.s.finish();
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
}

BOOST_AUTO_TEST_CASE(an_idle_one_that_is_lost_on_the_way_back_gives_its_slot_up) {
  preempted_one p;
  p.s.finish();
  p.s.sched.start(p.idle, {{}, output::sample, 3, 3});
  p.s.step();
  p.s.sched.abandon(p.idle);
  BOOST_CHECK(p.s.sched.scheduled(p.idle));
  p.s.end_transfers(false);
  BOOST_CHECK(!p.s.sched.scheduled(p.idle));
  check_continues(p.s, p.idle, counting(9));
}

BOOST_AUTO_TEST_CASE(without_room_nothing_is_swapped_out_and_its_tokens_are_run_again) {
  auto within = swapping_limits(1);
  within.swap_bytes = roomy().usage(9) - 1;
  preempted_one p(within);
  BOOST_CHECK(p.begun.swap_outs.empty());
  BOOST_CHECK(row_of(p.begun, p.other));
  BOOST_CHECK_EQUAL(p.s.sched.swapped_out(), 0u);
  p.s.finish();
  check_continues(p.s, p.idle, counting(9));
}

BOOST_AUTO_TEST_CASE(room_for_the_swapped_out_comes_back) {
  auto within = swapping_limits(1);
  within.swap_bytes = roomy().usage(9);
  preempted_one p(within);
  p.s.finish();
  const auto second = prefilled(p.s, 9);
  submit_stream(p.s, 20, 1);
  BOOST_CHECK(p.s.step().swap_outs.empty());
  BOOST_CHECK(!p.s.sched.scheduled(second));
  p.s.sched.cancel(p.idle);
  const auto third = prefilled(p.s, 9);
  submit_stream(p.s, 20, 1);
  const auto step = p.s.step();
  BOOST_REQUIRE_EQUAL(step.swap_outs.size(), 1u);
  BOOST_CHECK(step.swap_outs[0].sequence == third);
}

BOOST_AUTO_TEST_CASE(who_goes_on_while_it_leaves_comes_back_later) {
  preempted_one p;
  p.s.sched.start(p.idle, {{}, output::sample, 3, 3});
  BOOST_CHECK(p.s.sched.phase_of(p.idle) == phase::paused);
  BOOST_CHECK(p.s.step().empty());
  p.s.end_transfers();
  BOOST_CHECK(p.s.sched.phase_of(p.idle) == phase::waiting);
  p.s.finish();
  BOOST_CHECK(p.s.sampled(p.other) == alone(counting(5, 20), 1));
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_that_goes_while_it_leaves) {
  for (const bool ok : {true, false}) {
    preempted_one p;
    p.s.sched.cancel(p.idle);
    p.s.end_transfers(ok);
    check_all_free(p.s);
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_that_goes_while_it_is_away) {
  preempted_one p;
  p.s.finish();
  p.s.sched.cancel(p.idle);
  const auto step = p.s.step();
  BOOST_REQUIRE_EQUAL(step.drops.size(), 1u);
  BOOST_CHECK(step.drops[0] == p.begun.swap_outs[0].name);
  check_all_free(p.s);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_that_goes_while_it_comes_back) {
  for (const bool ok : {true, false}) {
    preempted_one p;
    p.s.finish();
    p.s.sched.start(p.idle, {{}, output::sample, 3, 3});
    p.s.step();
    p.s.sched.cancel(p.idle);
    BOOST_CHECK(p.s.step().empty());
    BOOST_CHECK_EQUAL(p.s.sched.free_slots(), 0);
    p.s.end_transfers(ok);
    check_all_free(p.s);
  }
}

BOOST_AUTO_TEST_CASE(what_was_cut_while_away_comes_back_short) {
  preempted_one p;
  p.s.finish();
  p.s.sched.truncate(p.idle, 4);
  check_continues(p.s, p.idle, counting(4));
}

BOOST_AUTO_TEST_CASE(what_was_cut_to_nothing_while_away_is_dropped) {
  preempted_one p;
  p.s.finish();
  p.s.sched.truncate(p.idle, 0);
  BOOST_CHECK_EQUAL(p.s.step().drops.size(), 1u);
  p.s.sched.cancel(p.idle);
  check_all_free(p.s);
}

BOOST_AUTO_TEST_CASE(a_fork_of_one_that_is_away_computes_its_own_tokens) {
  preempted_one p;
  p.s.finish();
  const auto child = p.s.sched.fork(p.idle);
  BOOST_CHECK(!p.s.sched.scheduled(child));
  check_continues(p.s, child, counting(9));
}

BOOST_AUTO_TEST_CASE(a_fork_that_brings_another_one_back_may_be_refused_memory_anywhere) {
  bool forked = false;
  for (int allowed = 0; !forked; ++allowed) {
    auto within = swapping_limits(2);
    within.idle_timeout = time::max();
    served s(within);
    const auto away = prefilled(s, 9);
    s.sched.suspend(away);
    s.finish();
    const auto parent = prefilled(s, 7);
    const auto gone = prefilled(s, 5);
    s.sched.start(away, {{}, output::sample, 3, 3});
    s.sched.cancel(gone);
    try {
      const no_memory none(allowed);
      s.sched.fork(parent);
      forked = true;
    } catch (const std::bad_alloc&) {
    }
    s.sched.verify();
    BOOST_CHECK_EQUAL(s.sched.live(), forked ? 3 : 2);
    s.finish();
    BOOST_CHECK(s.sampled(away) == alone(counting(9), 3));
  }
}

BOOST_AUTO_TEST_CASE(a_fork_that_is_swapped_out_takes_what_it_shares_along) {
  auto within = swapping_limits(2);
  served s(within);
  const auto parent = prefilled(s, 9);
  const auto child = s.sched.fork(parent);
  s.sched.start(child, {{7}, output::last_logits});
  s.finish();
  s.sched.suspend(child);
  const auto other = submit_stream(s, 20, 1);
  const auto begun = s.step();
  BOOST_REQUIRE_EQUAL(begun.swap_outs.size(), 1u);
  BOOST_CHECK(begun.swap_outs[0].sequence == child);
  BOOST_CHECK_EQUAL(begun.swap_outs[0].length, 10);
  s.finish();
  BOOST_CHECK_EQUAL(s.count(other, event::kind::token), 1);
  s.sched.cancel(parent);
  check_continues(s, child, joined(counting(9), {7}));
}

BOOST_AUTO_TEST_CASE(an_encoder_input_comes_back_with_its_sequence) {
  const auto encoder_input = std::make_shared<const std::vector<token>>(counting(6, 30));
  served s(swapping_limits(1));
  const auto idle = s.sched.submit({.encoder_input = encoder_input}, {counting(9), output::last_logits});
  s.finish();
  submit_stream(s, 20, 1);
  s.step();
  s.finish();
  check_continues(s, idle, counting(9), *encoder_input);
}

BOOST_AUTO_TEST_CASE(the_end_of_what_is_not_on_its_way_is_refused) {
  preempted_one p;
  BOOST_CHECK_THROW(p.s.sched.on_swap_done(swap_id{99}, true), std::out_of_range);
  p.s.end_transfers();
  BOOST_CHECK_THROW(p.s.sched.on_swap_done(p.begun.swap_outs[0].name, true), std::out_of_range);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
