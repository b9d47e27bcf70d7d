// What a sequence has cached is copied out of its slot, and taken in again elsewhere.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::scheduler {
namespace {

limits with_swap_bytes(std::int64_t bytes) {
  auto within = roomy();
  within.swap_bytes = bytes;
  return within;
}

/// An idle sequence of nine tokens, whose copy is on its way.
struct copied_one {
  explicit copied_one(std::int64_t swap_bytes = 0) : s(with_swap_bytes(swap_bytes)) {
    idle = prefilled(s, 9);
    copy = s.sched.copy_out(idle);
    begun = s.step();
  }

  served s;
  sequence_id idle;
  std::optional<kept_snapshot> copy;
  step begun;
};

/// Of nine tokens, all cached.
resume_state nine_tokens() { return {counting(9), 0, snapshot{9, 9, 9}}; }

/// They are in another scheduler's store from now on.
void bring(served& s, sequence_id id, const resume_state& history, std::vector<token> encoder_input = {}) {
  s.runner.keep(s.sched.stored(id).value().name,
                {history.tokens, std::move(encoder_input), history.snapshot->high_water_mark});
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_copied_out_stays_in_its_slot_and_counts_in_no_budget) {
  copied_one c;
  BOOST_REQUIRE(c.copy);
  BOOST_CHECK_EQUAL(c.copy->snapshot.length, 9);
  BOOST_CHECK_EQUAL(c.copy->snapshot.cached, 9);
  BOOST_CHECK_EQUAL(c.copy->snapshot.high_water_mark, 9);
  BOOST_REQUIRE_EQUAL(c.begun.swap_outs.size(), 1u);
  BOOST_CHECK(c.begun.swap_outs[0].is_copy);
  BOOST_CHECK(c.begun.swap_outs[0].name == c.copy->name);
  BOOST_CHECK(c.s.sched.scheduled(c.idle));
  BOOST_CHECK(c.s.sched.in_transfer(c.idle));
  BOOST_CHECK(!c.s.sched.is_swapping_out(c.idle));
  BOOST_CHECK_EQUAL(c.s.sched.swap_in_use(), 0);
  BOOST_CHECK_EQUAL(c.s.sched.swapped_out(), 0u);
}

BOOST_AUTO_TEST_CASE(a_copy_is_dropped_by_the_plan_after_its_end) {
  copied_one c;
  c.s.end_transfers();
  BOOST_CHECK(!c.s.sched.in_transfer(c.idle));
  BOOST_CHECK(!c.s.sched.stored(c.idle));
  BOOST_CHECK(c.s.runner.cache().kept(c.copy->name).tokens == counting(9));
  const auto dropping = c.s.step();
  BOOST_REQUIRE_EQUAL(dropping.drops.size(), 1u);
  BOOST_CHECK(dropping.drops[0] == c.copy->name);
}

BOOST_AUTO_TEST_CASE(one_that_goes_on_while_it_is_copied_runs_when_that_has_ended_and_nothing_again) {
  for (const bool ok : {true, false}) {
    copied_one c;
    c.s.sched.start(c.idle, {{}, output::sample, 3, 3});
    BOOST_CHECK(c.s.sched.phase_of(c.idle) == phase::paused);
    BOOST_CHECK(c.s.step().empty());
    c.s.end_transfers(ok);
    BOOST_CHECK_EQUAL(tokens_in(c.s.step()), 1);
    c.s.finish();
    BOOST_CHECK(c.s.sampled(c.idle) == alone(counting(9), 3));
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_that_goes_while_it_is_copied) {
  for (const bool ok : {true, false}) {
    copied_one c;
    c.s.sched.cancel(c.idle);
    c.s.end_transfers(ok);
    c.s.finish();
    BOOST_CHECK_EQUAL(c.s.sched.free_slots(), 8);
    BOOST_CHECK_EQUAL(c.s.sched.memory_in_use(), 0);
  }
}

BOOST_AUTO_TEST_CASE(what_was_cut_is_copied_whole_and_counts_as_far_as_it_is_the_sequences) {
  served s(roomy());
  const auto idle = prefilled(s, 9);
  s.sched.truncate(idle, 5);
  const auto copy = s.sched.copy_out(idle);
  BOOST_REQUIRE(copy);
  BOOST_CHECK_EQUAL(copy->snapshot.length, 9);
  BOOST_CHECK_EQUAL(copy->snapshot.cached, 5);
}

BOOST_AUTO_TEST_CASE(a_fork_is_copied_with_what_it_shares) {
  served s(roomy());
  const auto child = s.sched.fork(prefilled(s, 9));
  const auto copy = s.sched.copy_out(child);
  BOOST_REQUIRE(copy);
  s.step();
  s.end_transfers();
  BOOST_CHECK(s.runner.cache().kept(copy->name).tokens == counting(9));
}

BOOST_AUTO_TEST_CASE(nothing_is_copied_of_one_that_runs_or_has_nothing_or_moves) {
  served s(with_swap_bytes(1'000'000));
  BOOST_CHECK(!s.sched.copy_out(sequence_id{99}));
  BOOST_CHECK(!s.sched.copy_out(s.sched.submit({})));
  const auto runs = s.sched.submit({}, {counting(9), output::sample, 1});
  s.step();
  BOOST_CHECK(!s.sched.copy_out(runs));
  const auto idle = prefilled(s, 9);
  s.sched.suspend(idle);
  BOOST_CHECK(!s.sched.copy_out(idle));
  BOOST_CHECK(!s.sched.stored(idle));
  s.finish();
  BOOST_CHECK(!s.sched.copy_out(idle));
  BOOST_CHECK_EQUAL(s.sched.stored(idle).value().snapshot.cached, 9);
}

BOOST_AUTO_TEST_CASE(one_with_a_past_comes_back_with_all_that_it_had_cached) {
  served s(with_swap_bytes(roomy().usage(9)));
  const auto id = s.sched.resume({}, nine_tokens());
  BOOST_CHECK(s.sched.idle(id));
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), roomy().usage(9));
  BOOST_CHECK_EQUAL(s.sched.swapped_out(), 0u);
  bring(s, id, nine_tokens());
  s.sched.start(id, {{}, output::sample, 3, 3});
  const auto back = s.step();
  BOOST_REQUIRE_EQUAL(back.swap_ins.size(), 1u);
  BOOST_CHECK_EQUAL(back.swap_ins[0].length, 9);
  s.end_transfers();
  BOOST_CHECK_EQUAL(tokens_in(s.step()), 1);
  s.finish();
  BOOST_CHECK(s.sampled(id) == alone(counting(9), 3));
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(a_past_without_room_for_its_snapshot_is_run_again) {
  for (const auto bytes : {std::int64_t{0}, roomy().usage(9) - 1}) {
    served s(with_swap_bytes(bytes));
    const auto id = s.sched.resume({}, nine_tokens());
    BOOST_CHECK(!s.sched.stored(id));
    BOOST_CHECK_EQUAL(s.sched.swap_in_use(), 0);
    check_continues(s, id, counting(9));
  }
}

BOOST_AUTO_TEST_CASE(a_past_whose_snapshot_is_longer_than_the_sequence_may_be_is_run_again) {
  served s(with_swap_bytes(1'000'000));
  const auto id = s.sched.resume({.max_sequence_length = 8}, {counting(5), 0, snapshot{9, 5, 9}});
  BOOST_CHECK(!s.sched.stored(id));
  check_continues(s, id, counting(5));
}

BOOST_AUTO_TEST_CASE(a_past_counts_what_was_sampled_before) {
  served s(roomy());
  const auto id = s.sched.resume({.max_new_tokens = 4}, {counting(9), 3});
  s.sched.start(id, {{}, output::sample, 3, 3});
  s.finish();
  BOOST_CHECK(s.sampled(id) == alone(counting(9), 1));
}

BOOST_AUTO_TEST_CASE(a_past_comes_back_with_its_encoder_input) {
  const auto encoder_input = std::make_shared<const std::vector<token>>(counting(6, 30));
  served s(with_swap_bytes(1'000'000));
  const auto id = s.sched.resume({.encoder_input = encoder_input}, nine_tokens());
  bring(s, id, nine_tokens(), *encoder_input);
  check_continues(s, id, counting(9), *encoder_input);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_with_a_past_that_goes_at_once) {
  served s(with_swap_bytes(1'000'000));
  const auto id = s.sched.resume({}, nine_tokens());
  const auto name = s.sched.stored(id).value().name;
  bring(s, id, nine_tokens());
  s.sched.cancel(id);
  BOOST_CHECK(s.step().drops == std::vector{name});
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(a_past_that_makes_no_sense_is_refused_and_changes_nothing) {
  served s(with_swap_bytes(1'000'000));
  BOOST_CHECK_THROW(s.sched.resume({.max_sequence_length = 8}, nine_tokens()), std::length_error);
  BOOST_CHECK_THROW(s.sched.resume({}, {counting(9), -1}), std::invalid_argument);
  for (const snapshot wrong :
       {snapshot{9, 0, 9}, snapshot{9, 10, 9}, snapshot{8, 9, 9}, snapshot{9, 9, 8}, snapshot{12, 10, 12}})
    BOOST_CHECK_THROW(s.sched.resume({}, {counting(9), 0, wrong}), std::invalid_argument);
  BOOST_CHECK_EQUAL(s.sched.live(), 0);
  BOOST_CHECK_EQUAL(s.sched.swap_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(one_that_is_to_run_its_only_token_again_has_nothing_stored) {
  auto within = roomy();
  within.swap_bytes = 1'000'000;
  served s(within);
  const auto id = prefilled(s, 1);
  s.sched.suspend(id);
  s.finish();
  BOOST_CHECK(s.sched.stored(id));
  s.sched.start(id, {{}, output::last_logits});
  BOOST_CHECK(!s.sched.stored(id));
}

}  // namespace cogen::scheduler
