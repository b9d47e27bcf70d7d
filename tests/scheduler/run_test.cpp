#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

void check_tokens(std::span<const token> held, const std::vector<token>& expected) {
  BOOST_CHECK_EQUAL_COLLECTIONS(held.begin(), held.end(), expected.begin(), expected.end());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sampling_run_stops_at_its_credits_and_goes_on_with_more) {
  served s(roomy());
  const auto id = s.sched.submit({}, {counting(5), output::sample, 3});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(id).size(), 3);
  BOOST_CHECK(!s.sched.idle(id));
  BOOST_CHECK(s.sched.phase_of(id) == phase::paused);
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 7);
  s.sched.grant(id, 2);
  s.finish();
  check_tokens(s.sched.tokens(id), joined(counting(5), alone(counting(5), 5)));
  BOOST_CHECK_EQUAL(s.count(id, event::kind::finished), 0);
}

BOOST_AUTO_TEST_CASE(a_scheduler_can_be_moved) {
  scheduler original(roomy());
  const auto id = original.submit({}, {counting(5), output::last_logits});
  scheduler moved = std::move(original);
  BOOST_CHECK(row_of(moved.next(), id));
}

BOOST_AUTO_TEST_CASE(a_run_has_one_credit_where_nothing_is_said) {
  served s(roomy());
  const auto id = s.sched.submit({}, {counting(5)});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(id).size(), 1);
  BOOST_CHECK(!s.sched.idle(id));
}

BOOST_AUTO_TEST_CASE(a_run_of_a_number_of_samples_ends_without_an_event) {
  served s(roomy());
  const auto id = s.sched.submit({}, {counting(5), output::sample, plenty, 2});
  s.finish();
  BOOST_CHECK(s.sched.idle(id));
  BOOST_CHECK_EQUAL(s.events.size(), 2);
  s.sched.start(id, {{}, output::sample, 1, 1});
  auto step = s.step();
  BOOST_CHECK_EQUAL(row_of(step, id)->count, 1);
  BOOST_CHECK(step.truncations.empty());
  check_tokens(s.sched.tokens(id), joined(counting(5), alone(counting(5), 3)));
}

BOOST_AUTO_TEST_CASE(an_end_token_is_reported_and_not_appended) {
  served s(roomy());
  const auto expected = alone(counting(5), 4);
  const auto id = s.sched.submit({.end_tokens = {-7, expected[3]}}, {counting(5), output::sample, plenty});
  s.finish();
  BOOST_CHECK(s.sampled(id) == expected);
  BOOST_CHECK(s.events.back().type == event::kind::finished);
  BOOST_CHECK(s.events.back().reason == finish::end_token);
  check_tokens(s.sched.tokens(id), joined(counting(5), {expected.begin(), expected.begin() + 3}));
  BOOST_CHECK(s.sched.idle(id));
}

BOOST_AUTO_TEST_CASE(a_run_is_finished_when_all_new_tokens_are_sampled) {
  served s(roomy());
  const auto id = s.sched.submit({.max_new_tokens = 4}, {counting(5), output::sample, plenty, 3});
  s.finish();
  BOOST_CHECK_EQUAL(s.count(id, event::kind::finished), 0);
  s.sched.start(id, {{}, output::sample, plenty, 3});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(id).size(), 4);
  BOOST_CHECK(s.events.back().reason == finish::length);
  s.sched.start(id, {{3}, output::sample, plenty});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(id).size(), 4);
  BOOST_CHECK_EQUAL(s.count(id, event::kind::finished), 2);
  BOOST_CHECK_EQUAL(s.sched.tokens(id).size(), 10);
}

BOOST_AUTO_TEST_CASE(a_run_is_finished_when_the_sequence_is_full) {
  served s(roomy());
  const auto id = s.sched.submit({.max_sequence_length = 9}, {counting(5), output::sample, plenty});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(id).size(), 4);
  BOOST_CHECK(s.events.back().reason == finish::length);
  const auto full = s.sched.submit({.max_sequence_length = 9}, {counting(9), output::sample, plenty});
  s.finish();
  BOOST_CHECK_EQUAL(s.sampled(full).size(), 0);
  BOOST_CHECK_EQUAL(s.count(full, event::kind::finished), 1);
}

BOOST_AUTO_TEST_CASE(logits_come_after_the_last_token_or_after_each) {
  auto within = roomy();
  within.max_batched_tokens = 4;
  served s(within);
  const auto last = s.sched.submit({}, {counting(10), output::last_logits});
  s.finish();
  BOOST_REQUIRE_EQUAL(s.events.size(), 1);
  BOOST_CHECK(s.events[0].last);
  BOOST_CHECK(s.sched.idle(last));
  const auto id = s.sched.submit({}, {counting(10), output::all_logits});
  s.events.clear();
  std::vector<int> counts;
  while (!s.sched.idle(id)) {
    const auto step = s.step();
    BOOST_CHECK(row_of(step, id)->wanted == output::all_logits);
    counts.push_back(row_of(step, id)->count);
  }
  BOOST_CHECK((counts == std::vector{4, 4, 2}));
  BOOST_REQUIRE_EQUAL(s.events.size(), 3);
  BOOST_CHECK(!s.events[0].last && !s.events[1].last && s.events[2].last);
}

BOOST_AUTO_TEST_CASE(with_nothing_to_feed_the_last_token_runs_again) {
  served s(roomy());
  const auto id = s.sched.submit({}, {counting(6), output::last_logits});
  s.finish();
  s.sched.start(id, {{}, output::sample, 1, 1});
  const auto step = s.step();
  BOOST_REQUIRE_EQUAL(step.truncations.size(), 1);
  BOOST_CHECK_EQUAL(step.truncations[0].length, 5);
  BOOST_CHECK_EQUAL(row_of(step, id)->count, 1);
  BOOST_CHECK(s.sampled(id) == alone(counting(6), 1));
}

BOOST_AUTO_TEST_CASE(a_failing_prefill_returns_to_before_the_run) {
  auto within = roomy();
  within.max_batched_tokens = 4;
  served s(within);
  const auto id = s.sched.submit({}, {counting(3), output::last_logits});
  s.finish();
  s.sched.start(id, {counting(9), output::sample, 5});
  s.fails = [](const row& row) { return row.wanted == output::sample; };
  s.finish();
  BOOST_CHECK(s.events.back().reason == finish::failed);
  BOOST_CHECK(s.sched.idle(id));
  check_tokens(s.sched.tokens(id), counting(3));
  s.fails = [](const row&) { return false; };
  s.sched.start(id, {{3}, output::sample, 5});
  s.finish();
  BOOST_CHECK(s.sampled(id) == alone(counting(4), 5));
}

// What a slot lacks is run again, also where it had counted before.
BOOST_AUTO_TEST_CASE(a_row_without_memory_leaves_what_is_held) {
  for (const int held : {0, 5, 8}) {
    served s(sharing_limits(4));
    const auto id = s.sched.submit({}, {counting(8), output::last_logits});
    s.finish();
    s.sched.start(id, {counting(4, 8), output::sample, 5});
    auto refused = s.sched.next(s.now);
    refused.rows.front().failed = true;
    refused.rows.front().held = held;
    s.runner.run(refused);
    s.sched.absorb(refused);
    s.sched.verify();
    BOOST_TEST((refused.events.back().reason == finish::failed));
    check_tokens(s.sched.tokens(id), counting(8));
    s.sched.start(id, {{8}, output::sample, 3});
    const auto step = s.step();
    BOOST_TEST(row_of(step, id)->position == held);
    BOOST_TEST(row_of(step, id)->count == 9 - held);
    s.finish();
    BOOST_TEST((s.sampled(id) == alone(counting(9), 3)));
  }
}

BOOST_AUTO_TEST_CASE(where_memory_is_refused_nothing_is_kept) {
  served s(sharing_limits(4));
  s.sched.submit({.release_at_end = true}, {counting(40), output::last_logits});
  s.finish();
  BOOST_TEST(s.sched.cached_prefix_length(0, counting(40)) > 0);
  BOOST_TEST(s.sched.prefix_cached_slots() == 1);
  s.sched.submit({}, {counting(9, 50), output::sample, 1});
  auto refused = s.sched.next(s.now);
  s.runner.run(refused);
  refused.rows.front().failed = true;
  refused.rows.front().held = 0;
  s.sched.absorb(refused);
  s.sched.verify();
  BOOST_TEST(s.sched.cached_prefix_length(0, counting(40)) == 0);
  BOOST_TEST(s.sched.prefix_cached_slots() == 0);
}

BOOST_AUTO_TEST_CASE(a_failing_decode_row_keeps_what_was_sampled_and_harms_no_other) {
  served s(roomy());
  const auto broken = s.sched.submit({}, {counting(3), output::sample, 9});
  const auto sound = s.sched.submit({}, {counting(4), output::sample, 9});
  s.step();
  s.step();
  s.fails = [&](const row& row) { return row.sequence == broken; };
  s.finish();
  check_tokens(s.sched.tokens(broken), joined(counting(3), alone(counting(3), 2)));
  BOOST_CHECK_EQUAL(s.count(broken, event::kind::finished), 1);
  BOOST_CHECK(s.sampled(sound) == alone(counting(4), 9));
  s.fails = [](const row&) { return false; };
  s.sched.start(broken, {{}, output::sample, 1, 1});
  s.finish();
  check_tokens(s.sched.tokens(broken), joined(counting(3), alone(counting(3), 3)));
}

BOOST_AUTO_TEST_CASE(a_sequence_that_goes_with_its_run_is_gone_with_the_last_event) {
  served s(roomy());
  const auto sampling = s.sched.submit({.max_new_tokens = 2, .release_at_end = true}, {counting(3), output::sample, 9});
  const auto logits = s.sched.submit({.release_at_end = true}, {counting(3), output::last_logits});
  s.finish();
  BOOST_CHECK_THROW(s.sched.tokens(sampling), std::out_of_range);
  BOOST_CHECK_THROW(s.sched.tokens(logits), std::out_of_range);
  BOOST_CHECK_EQUAL(s.sched.free_slots(), 8);
}

}  // namespace cogen::scheduler
