#include "scheduler/served.hpp"
#include "step_costs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(step_times)
namespace {

constexpr int no_end = 100'000;

/// What a machine takes that spends a fixed time on each step and more on each token.
struct machine_speed {
  std::int64_t step;
  std::int64_t token;

  time operator()(const cogen::scheduler::step& step_of) const { return time(step + token * tokens_in(step_of)); }
};

sequence_id stream(served& s, std::vector<token> prompt) {
  return s.sched.submit({}, {std::move(prompt), output::sample, no_end});
}

limits with_target(std::int64_t nanoseconds) {
  auto within = roomy();
  within.max_sequence_length = 20'000;
  within.max_batched_tokens = 512;
  within.target_step_latency = time(nanoseconds);
  return within;
}

/// Four streams that go on, and a prompt that takes many steps.
served& crowded(served& s) {
  for (int i = 0; i < 4; ++i) stream(s, counting(3, i));
  s.step();
  s.step();
  stream(s, counting(15'000));
  return s;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_known_before_the_first_step) {
  BOOST_CHECK_EQUAL(step_costs().tokens_within(time(1'000'000)), 0);
}

BOOST_AUTO_TEST_CASE(what_was_measured_is_believed_between_and_in_proportion_beyond) {
  step_costs costs;
  costs.took(100, time(1000));
  BOOST_CHECK_EQUAL(costs.tokens_within(time(500)), 50);
  BOOST_CHECK_EQUAL(costs.tokens_within(time(2000)), 200);
  costs.took(400, time(2500));
  BOOST_CHECK_EQUAL(costs.tokens_within(time(1750)), 250);
  BOOST_CHECK_EQUAL(costs.tokens_within(time(5000)), 800);
}

BOOST_AUTO_TEST_CASE(the_newest_steps_count_most_and_old_ones_are_forgotten) {
  step_costs costs;
  for (int i = 0; i < 20; ++i) costs.took(64, time(1000));
  for (int i = 0; i < 20; ++i) costs.took(64, time(4000));
  BOOST_CHECK_CLOSE(static_cast<double>(costs.tokens_within(time(4000))), 64., 5.);
  costs.took(8, time(100));
  BOOST_CHECK_LT(costs.tokens_within(time(2000)), 64);
  for (int i = 0; i < 600; ++i) costs.took(8, time(100));
  BOOST_CHECK_EQUAL(costs.tokens_within(time(2000)), 160);
}

BOOST_DATA_TEST_CASE(mixed_steps_come_to_what_was_asked_for,
                     boost::unit_test::data::make({4'000, 10'000, 50'000, 90'000}), target) {
  served s(with_target(target));
  const machine_speed speed{2'000, 200};
  s.takes = speed;
  crowded(s);
  int steps = 0;
  double sum = 0;
  for (auto plan = s.step(); tokens_in(plan) > 5; plan = s.step()) {
    if (++steps <= 10) continue;  // while it learns
    const auto took = static_cast<double>(speed(plan).count());
    constexpr int tokens = 4 + 512 / 16;
    const double least = 2'000 + 200 * tokens;
    BOOST_CHECK_LE(took, std::max(1.1 * target, least));
    sum += took;
  }
  BOOST_REQUIRE_GT(steps, 20);
  BOOST_CHECK_GE(sum / (steps - 10), 0.85 * target);
}

BOOST_AUTO_TEST_CASE(an_unreachable_target_leaves_a_sixteenth_to_prompts) {
  served s(with_target(1));
  s.takes = machine_speed{1'000, 10};
  crowded(s);
  for (int i = 0; i < 30; ++i) BOOST_CHECK_EQUAL(tokens_in(s.step()), 4 + 512 / 16);
}

BOOST_AUTO_TEST_CASE(prompts_alone_fill_their_steps) {
  served s(with_target(1));
  s.takes = machine_speed{1'000, 10};
  stream(s, counting(5'000));
  for (int i = 0; i < 9; ++i) BOOST_CHECK_EQUAL(tokens_in(s.step()), 512);
}

BOOST_AUTO_TEST_CASE(a_machine_that_becomes_slower_gets_smaller_chunks) {
  served s(with_target(20'000));
  s.takes = machine_speed{2'000, 100};
  crowded(s);
  for (int i = 0; i < 15; ++i) s.step();
  const int tokens = tokens_in(s.step());
  s.takes = machine_speed{2'000, 300};
  for (int i = 0; i < 15; ++i) s.step();
  BOOST_CHECK_LT(2 * tokens_in(s.step()), tokens);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
