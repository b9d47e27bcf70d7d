// What a sequence has cached is copied out of its slot, and taken in again elsewhere.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::scheduler {
namespace {

limits with_spill_bytes(std::int64_t bytes) {
  auto within = roomy();
  within.spill_bytes = bytes;
  return within;
}

/// An idle sequence of nine tokens, whose copy is on its way.
struct copied_one {
  explicit copied_one(std::int64_t spill_bytes = 0) : s(with_spill_bytes(spill_bytes)) {
    idle = prefilled(s, 9);
    copy = s.machine.copy_out(idle);
    begun = s.step();
  }

  served s;
  sequence_id idle;
  std::optional<kept_image> copy;
  plan begun;
};

/// Of nine tokens, all cached.
past nine_tokens() { return {counting(9), 0, image{9, 9, 9}}; }

/// They are in another scheduler's store from now on.
void bring(served& s, sequence_id id, const past& what, std::vector<token> source = {}) {
  s.runner.keep(s.machine.stored(id).value().name, {what.tokens, std::move(source), what.image->reach});
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_copied_out_stays_in_its_slot_and_counts_in_no_budget) {
  copied_one c;
  BOOST_REQUIRE(c.copy);
  BOOST_CHECK_EQUAL(c.copy->image.length, 9);
  BOOST_CHECK_EQUAL(c.copy->image.cached, 9);
  BOOST_CHECK_EQUAL(c.copy->image.reach, 9);
  BOOST_REQUIRE_EQUAL(c.begun.spills.size(), 1u);
  BOOST_CHECK(c.begun.spills[0].beside);
  BOOST_CHECK(c.begun.spills[0].name == c.copy->name);
  BOOST_CHECK(c.s.machine.seated(c.idle));
  BOOST_CHECK(c.s.machine.moving(c.idle));
  BOOST_CHECK(!c.s.machine.leaving(c.idle));
  BOOST_CHECK_EQUAL(c.s.machine.spill_in_use(), 0);
  BOOST_CHECK_EQUAL(c.s.machine.spilled(), 0u);
}

BOOST_AUTO_TEST_CASE(a_copy_is_dropped_by_the_plan_after_its_end) {
  copied_one c;
  c.s.end_transfers();
  BOOST_CHECK(!c.s.machine.moving(c.idle));
  BOOST_CHECK(!c.s.machine.stored(c.idle));
  BOOST_CHECK(c.s.runner.cache().kept(c.copy->name).tokens == counting(9));
  const auto dropping = c.s.step();
  BOOST_REQUIRE_EQUAL(dropping.drops.size(), 1u);
  BOOST_CHECK(dropping.drops[0] == c.copy->name);
}

BOOST_AUTO_TEST_CASE(one_that_goes_on_while_it_is_copied_runs_when_that_has_ended_and_nothing_again) {
  for (const bool ok : {true, false}) {
    copied_one c;
    c.s.machine.start(c.idle, {{}, output::sample, 3, 3});
    BOOST_CHECK(c.s.machine.phase_of(c.idle) == phase::paused);
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
    c.s.machine.cancel(c.idle);
    c.s.end_transfers(ok);
    c.s.finish();
    BOOST_CHECK_EQUAL(c.s.machine.free_slots(), 8);
    BOOST_CHECK_EQUAL(c.s.machine.memory_in_use(), 0);
  }
}

BOOST_AUTO_TEST_CASE(what_was_cut_is_copied_whole_and_counts_as_far_as_it_is_the_sequences) {
  served s(roomy());
  const auto idle = prefilled(s, 9);
  s.machine.truncate(idle, 5);
  const auto copy = s.machine.copy_out(idle);
  BOOST_REQUIRE(copy);
  BOOST_CHECK_EQUAL(copy->image.length, 9);
  BOOST_CHECK_EQUAL(copy->image.cached, 5);
}

BOOST_AUTO_TEST_CASE(a_fork_is_copied_with_what_it_shares) {
  served s(roomy());
  const auto child = s.machine.fork(prefilled(s, 9));
  const auto copy = s.machine.copy_out(child);
  BOOST_REQUIRE(copy);
  s.step();
  s.end_transfers();
  BOOST_CHECK(s.runner.cache().kept(copy->name).tokens == counting(9));
}

BOOST_AUTO_TEST_CASE(nothing_is_copied_of_one_that_runs_or_has_nothing_or_moves) {
  served s(with_spill_bytes(1'000'000));
  BOOST_CHECK(!s.machine.copy_out(sequence_id{99}));
  BOOST_CHECK(!s.machine.copy_out(s.machine.submit({})));
  const auto runs = s.machine.submit({}, {counting(9), output::sample, 1});
  s.step();
  BOOST_CHECK(!s.machine.copy_out(runs));
  const auto idle = prefilled(s, 9);
  s.machine.park(idle);
  BOOST_CHECK(!s.machine.copy_out(idle));
  BOOST_CHECK(!s.machine.stored(idle));
  s.finish();
  BOOST_CHECK(!s.machine.copy_out(idle));
  BOOST_CHECK_EQUAL(s.machine.stored(idle).value().image.cached, 9);
}

BOOST_AUTO_TEST_CASE(one_with_a_past_comes_back_with_all_that_it_had_cached) {
  served s(with_spill_bytes(roomy().usage(9)));
  const auto id = s.machine.resume({}, nine_tokens());
  BOOST_CHECK(s.machine.idle(id));
  BOOST_CHECK_EQUAL(s.machine.spill_in_use(), roomy().usage(9));
  BOOST_CHECK_EQUAL(s.machine.spilled(), 0u);
  bring(s, id, nine_tokens());
  s.machine.start(id, {{}, output::sample, 3, 3});
  const auto back = s.step();
  BOOST_REQUIRE_EQUAL(back.restores.size(), 1u);
  BOOST_CHECK_EQUAL(back.restores[0].length, 9);
  s.end_transfers();
  BOOST_CHECK_EQUAL(tokens_in(s.step()), 1);
  s.finish();
  BOOST_CHECK(s.sampled(id) == alone(counting(9), 3));
  BOOST_CHECK_EQUAL(s.machine.spill_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(a_past_without_room_for_its_image_is_run_again) {
  for (const auto bytes : {std::int64_t{0}, roomy().usage(9) - 1}) {
    served s(with_spill_bytes(bytes));
    const auto id = s.machine.resume({}, nine_tokens());
    BOOST_CHECK(!s.machine.stored(id));
    BOOST_CHECK_EQUAL(s.machine.spill_in_use(), 0);
    check_continues(s, id, counting(9));
  }
}

BOOST_AUTO_TEST_CASE(a_past_whose_image_is_longer_than_the_sequence_may_be_is_run_again) {
  served s(with_spill_bytes(1'000'000));
  const auto id = s.machine.resume({.max_length = 8}, {counting(5), 0, image{9, 5, 9}});
  BOOST_CHECK(!s.machine.stored(id));
  check_continues(s, id, counting(5));
}

BOOST_AUTO_TEST_CASE(a_past_counts_what_was_sampled_before) {
  served s(roomy());
  const auto id = s.machine.resume({.max_new_tokens = 4}, {counting(9), 3});
  s.machine.start(id, {{}, output::sample, 3, 3});
  s.finish();
  BOOST_CHECK(s.sampled(id) == alone(counting(9), 1));
}

BOOST_AUTO_TEST_CASE(a_past_comes_back_with_its_source) {
  const auto source = std::make_shared<const std::vector<token>>(counting(6, 30));
  served s(with_spill_bytes(1'000'000));
  const auto id = s.machine.resume({.source = source}, nine_tokens());
  bring(s, id, nine_tokens(), *source);
  check_continues(s, id, counting(9), *source);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_one_with_a_past_that_goes_at_once) {
  served s(with_spill_bytes(1'000'000));
  const auto id = s.machine.resume({}, nine_tokens());
  const auto name = s.machine.stored(id).value().name;
  bring(s, id, nine_tokens());
  s.machine.cancel(id);
  BOOST_CHECK(s.step().drops == std::vector{name});
  BOOST_CHECK_EQUAL(s.machine.spill_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(a_past_that_makes_no_sense_is_refused_and_changes_nothing) {
  served s(with_spill_bytes(1'000'000));
  BOOST_CHECK_THROW(s.machine.resume({.max_length = 8}, nine_tokens()), std::length_error);
  BOOST_CHECK_THROW(s.machine.resume({}, {counting(9), -1}), std::invalid_argument);
  for (const image wrong : {image{9, 0, 9}, image{9, 10, 9}, image{8, 9, 9}, image{9, 9, 8}, image{12, 10, 12}})
    BOOST_CHECK_THROW(s.machine.resume({}, {counting(9), 0, wrong}), std::invalid_argument);
  BOOST_CHECK_EQUAL(s.machine.live(), 0);
  BOOST_CHECK_EQUAL(s.machine.spill_in_use(), 0);
}

BOOST_AUTO_TEST_CASE(one_that_is_to_run_its_only_token_again_has_nothing_stored) {
  auto within = roomy();
  within.spill_bytes = 1'000'000;
  served s(within);
  const auto id = prefilled(s, 1);
  s.machine.park(id);
  s.finish();
  BOOST_CHECK(s.machine.stored(id));
  s.machine.start(id, {{}, output::last_logits});
  BOOST_CHECK(!s.machine.stored(id));
}

}  // namespace cogen::scheduler
