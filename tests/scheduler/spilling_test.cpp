// What a parked sequence has cached goes to the host and comes back, at its own pace, and may be lost on the way.
#include "scheduler/no_memory.hpp"
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <new>
#include <stdexcept>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(spilled_runs)
namespace {

/// No patience, so many slots, and room for everything that is spilled.
limits spilling_limits(int slots) {
  auto within = roomy();
  within.slots = slots;
  within.patience = time(0);
  within.spill_bytes = 1'000'000;
  return within;
}

sequence_id submit_stream(served& s, int first_token, int count) {
  return s.machine.submit({.max_new_tokens = count, .release_at_end = true},
                          {counting(5, first_token), output::sample, count});
}

/// One idle sequence of nine tokens, parked for another one that samples one token; the spill is on its way.
struct parked_one {
  explicit parked_one(const limits& within = spilling_limits(1)) : s(within) {
    idle = prefilled(s, 9);
    other = submit_stream(s, 20, 1);
    begun = s.step();
  }

  served s;
  sequence_id idle;
  sequence_id other;
  plan begun;
};

void check_all_free(served& s) {
  s.finish();
  BOOST_CHECK_EQUAL(s.machine.free_slots(), 1);
  BOOST_CHECK_EQUAL(s.machine.memory_in_use(), 0);
  BOOST_CHECK_EQUAL(s.machine.spill_in_use(), 0);
  BOOST_CHECK_EQUAL(s.runner.cache().spilled_bytes(), 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_parked_sequence_is_spilled_and_its_slot_free_when_that_has_ended) {
  parked_one p;
  BOOST_REQUIRE_EQUAL(p.begun.spills.size(), 1u);
  BOOST_CHECK(p.begun.spills[0].sequence == p.idle);
  BOOST_CHECK_EQUAL(p.begun.spills[0].length, 9);
  BOOST_CHECK(p.begun.rows.empty());
  BOOST_CHECK(p.s.step().empty());
  BOOST_CHECK_EQUAL(p.s.machine.spill_in_use(), roomy().usage(9));
  p.s.end_transfers();
  BOOST_CHECK(row_of(p.s.step(), p.other));
  BOOST_CHECK_EQUAL(p.s.machine.spilled(), 1u);
}

BOOST_AUTO_TEST_CASE(it_comes_back_with_all_that_it_had_cached) {
  parked_one p;
  p.s.finish();
  p.s.machine.start(p.idle, {{}, output::sample, 3, 3});
  const auto back = p.s.step();
  BOOST_REQUIRE_EQUAL(back.restores.size(), 1u);
  BOOST_CHECK(back.restores[0].name == p.begun.spills[0].name);
  BOOST_CHECK(back.rows.empty());
  BOOST_CHECK(p.s.machine.phase_of(p.idle) == phase::paused);
  p.s.end_transfers();
  BOOST_CHECK_EQUAL(tokens_in(p.s.step()), 1);
  p.s.finish();
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
  BOOST_CHECK_EQUAL(p.s.machine.spill_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(it_leaves_until_it_is_away_and_not_while_it_comes_back) {
  parked_one p;
  BOOST_CHECK(p.s.machine.leaving(p.idle));
  BOOST_CHECK(!p.s.machine.leaving(p.other));
  p.s.end_transfers();
  BOOST_CHECK(!p.s.machine.leaving(p.idle));
  p.s.finish();
  p.s.machine.start(p.idle, {{}, output::sample, 3, 3});
  BOOST_REQUIRE_EQUAL(p.s.step().restores.size(), 1u);
  BOOST_CHECK(!p.s.machine.leaving(p.idle));
  p.s.end_transfers();
  BOOST_CHECK(!p.s.machine.leaving(p.idle));
}

BOOST_AUTO_TEST_CASE(as_many_are_spilled_as_the_memory_of_one_takes) {
  auto within = spilling_limits(3);
  within.memory_bytes = 80;
  served s(within);
  for (int i = 0; i < 2; ++i) s.machine.submit({.max_length = 40}, {counting(9), output::last_logits});
  s.finish();
  const auto third = s.machine.submit({.max_length = 40}, {counting(9), output::last_logits});
  s.step();
  BOOST_CHECK_EQUAL(s.machine.parked(), 1);
  BOOST_CHECK(s.step().empty());
  s.end_transfers();
  BOOST_CHECK(row_of(s.step(), third));
}

BOOST_AUTO_TEST_CASE(while_one_comes_back_the_others_go_on) {
  parked_one p(spilling_limits(2));
  const auto runs = submit_stream(p.s, 40, 100);
  p.s.step();
  p.s.end_transfers();
  const auto third = submit_stream(p.s, 60, 2);
  for (int i = 0; i < 4; ++i) {
    p.s.step();
    p.s.end_transfers();
  }
  BOOST_CHECK_EQUAL(p.s.count(third, event::kind::token), 2);
  BOOST_REQUIRE(!p.s.machine.seated(p.idle));
  p.s.machine.start(p.idle, {{}, output::sample, 3, 3});
  const auto before = p.s.count(runs, event::kind::token);
  for (int i = 0; i < 5; ++i) BOOST_CHECK(row_of(p.s.step(), runs));
  BOOST_CHECK_EQUAL(p.s.count(runs, event::kind::token), before + 5);
  BOOST_CHECK_EQUAL(p.s.count(p.idle, event::kind::token), 0);
  p.s.end_transfers();
  for (int i = 0; i < 3; ++i) p.s.step();
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
}

BOOST_AUTO_TEST_CASE(what_is_lost_on_the_way_out_is_run_again) {
  parked_one p;
  p.s.end_transfers(false);
  BOOST_CHECK_EQUAL(p.s.machine.spill_in_use(), 0);
  p.s.finish();
  check_continues(p.s, p.idle, counting(9));
}

BOOST_AUTO_TEST_CASE(what_is_lost_on_the_way_back_is_run_again_in_the_same_slot) {
  parked_one p;
  p.s.finish();
  p.s.machine.start(p.idle, {{}, output::sample, 3, 3});
  p.s.step();
  p.s.end_transfers(false);
  BOOST_CHECK(p.s.machine.seated(p.idle));
  BOOST_CHECK_EQUAL(tokens_in(p.s.step()), 9);
  p.s.finish();
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
}

BOOST_AUTO_TEST_CASE(an_idle_one_that_is_lost_on_the_way_back_gives_its_slot_up) {
  parked_one p;
  p.s.finish();
  p.s.machine.start(p.idle, {{}, output::sample, 3, 3});
  p.s.step();
  p.s.machine.abandon(p.idle);
  BOOST_CHECK(p.s.machine.seated(p.idle));
  p.s.end_transfers(false);
  BOOST_CHECK(!p.s.machine.seated(p.idle));
  check_continues(p.s, p.idle, counting(9));
}

BOOST_AUTO_TEST_CASE(without_room_nothing_is_spilled_and_its_tokens_are_run_again) {
  auto within = spilling_limits(1);
  within.spill_bytes = roomy().usage(9) - 1;
  parked_one p(within);
  BOOST_CHECK(p.begun.spills.empty());
  BOOST_CHECK(row_of(p.begun, p.other));
  BOOST_CHECK_EQUAL(p.s.machine.spilled(), 0u);
  p.s.finish();
  check_continues(p.s, p.idle, counting(9));
}

BOOST_AUTO_TEST_CASE(room_for_the_spilled_comes_back) {
  auto within = spilling_limits(1);
  within.spill_bytes = roomy().usage(9);
  parked_one p(within);
  p.s.finish();
  const auto second = prefilled(p.s, 9);
  submit_stream(p.s, 20, 1);
  BOOST_CHECK(p.s.step().spills.empty());
  BOOST_CHECK(!p.s.machine.seated(second));
  p.s.machine.cancel(p.idle);
  const auto third = prefilled(p.s, 9);
  submit_stream(p.s, 20, 1);
  const auto step = p.s.step();
  BOOST_REQUIRE_EQUAL(step.spills.size(), 1u);
  BOOST_CHECK(step.spills[0].sequence == third);
}

BOOST_AUTO_TEST_CASE(who_goes_on_while_it_leaves_comes_back_later) {
  parked_one p;
  p.s.machine.start(p.idle, {{}, output::sample, 3, 3});
  BOOST_CHECK(p.s.machine.phase_of(p.idle) == phase::paused);
  BOOST_CHECK(p.s.step().empty());
  p.s.end_transfers();
  BOOST_CHECK(p.s.machine.phase_of(p.idle) == phase::waiting);
  p.s.finish();
  BOOST_CHECK(p.s.sampled(p.other) == alone(counting(5, 20), 1));
  BOOST_CHECK(p.s.sampled(p.idle) == alone(counting(9), 3));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_that_goes_while_it_leaves) {
  for (const bool ok : {true, false}) {
    parked_one p;
    p.s.machine.cancel(p.idle);
    p.s.end_transfers(ok);
    check_all_free(p.s);
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_that_goes_while_it_is_away) {
  parked_one p;
  p.s.finish();
  p.s.machine.cancel(p.idle);
  const auto step = p.s.step();
  BOOST_REQUIRE_EQUAL(step.drops.size(), 1u);
  BOOST_CHECK(step.drops[0] == p.begun.spills[0].name);
  check_all_free(p.s);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_that_goes_while_it_comes_back) {
  for (const bool ok : {true, false}) {
    parked_one p;
    p.s.finish();
    p.s.machine.start(p.idle, {{}, output::sample, 3, 3});
    p.s.step();
    p.s.machine.cancel(p.idle);
    BOOST_CHECK(p.s.step().empty());
    BOOST_CHECK_EQUAL(p.s.machine.free_slots(), 0);
    p.s.end_transfers(ok);
    check_all_free(p.s);
  }
}

BOOST_AUTO_TEST_CASE(what_was_cut_while_away_comes_back_short) {
  parked_one p;
  p.s.finish();
  p.s.machine.truncate(p.idle, 4);
  check_continues(p.s, p.idle, counting(4));
}

BOOST_AUTO_TEST_CASE(what_was_cut_to_nothing_while_away_is_dropped) {
  parked_one p;
  p.s.finish();
  p.s.machine.truncate(p.idle, 0);
  BOOST_CHECK_EQUAL(p.s.step().drops.size(), 1u);
  p.s.machine.cancel(p.idle);
  check_all_free(p.s);
}

BOOST_AUTO_TEST_CASE(a_fork_of_one_that_is_away_computes_its_own_tokens) {
  parked_one p;
  p.s.finish();
  const auto child = p.s.machine.fork(p.idle);
  BOOST_CHECK(!p.s.machine.seated(child));
  check_continues(p.s, child, counting(9));
}

BOOST_AUTO_TEST_CASE(a_fork_that_brings_another_one_back_may_be_refused_memory_anywhere) {
  bool forked = false;
  for (int allowed = 0; !forked; ++allowed) {
    auto within = spilling_limits(2);
    within.patience = time::max();
    served s(within);
    const auto away = prefilled(s, 9);
    s.machine.park(away);
    s.finish();
    const auto parent = prefilled(s, 7);
    const auto gone = prefilled(s, 5);
    s.machine.start(away, {{}, output::sample, 3, 3});
    s.machine.cancel(gone);
    try {
      const no_memory none(allowed);
      s.machine.fork(parent);
      forked = true;
    } catch (const std::bad_alloc&) {
    }
    s.machine.verify();
    BOOST_CHECK_EQUAL(s.machine.live(), forked ? 3 : 2);
    s.finish();
    BOOST_CHECK(s.sampled(away) == alone(counting(9), 3));
  }
}

BOOST_AUTO_TEST_CASE(a_fork_that_is_spilled_takes_what_it_shares_along) {
  auto within = spilling_limits(2);
  served s(within);
  const auto parent = prefilled(s, 9);
  const auto child = s.machine.fork(parent);
  s.machine.start(child, {{7}, output::last_logits});
  s.finish();
  s.machine.park(child);
  const auto other = submit_stream(s, 20, 1);
  const auto begun = s.step();
  BOOST_REQUIRE_EQUAL(begun.spills.size(), 1u);
  BOOST_CHECK(begun.spills[0].sequence == child);
  BOOST_CHECK_EQUAL(begun.spills[0].length, 10);
  s.finish();
  BOOST_CHECK_EQUAL(s.count(other, event::kind::token), 1);
  s.machine.cancel(parent);
  check_continues(s, child, joined(counting(9), {7}));
}

BOOST_AUTO_TEST_CASE(a_source_comes_back_with_its_sequence) {
  const auto source = std::make_shared<const std::vector<token>>(counting(6, 30));
  served s(spilling_limits(1));
  const auto idle = s.machine.submit({.source = source}, {counting(9), output::last_logits});
  s.finish();
  submit_stream(s, 20, 1);
  s.step();
  s.finish();
  check_continues(s, idle, counting(9), *source);
}

BOOST_AUTO_TEST_CASE(the_end_of_what_is_not_on_its_way_is_refused) {
  parked_one p;
  BOOST_CHECK_THROW(p.s.machine.transferred(ticket{99}, true), std::out_of_range);
  p.s.end_transfers();
  BOOST_CHECK_THROW(p.s.machine.transferred(p.begun.spills[0].name, true), std::out_of_range);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
