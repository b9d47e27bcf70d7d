// Chunks of prompts beside running streams, under a target for how long such a step takes.
#include "recorder.hpp"
#include "toy_runner.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;

/// A device that takes 1 ms for a step, and 0.1 ms for each token of it.
clock::duration time_of(const scheduler::step& plan) {
  clock::duration total = 1ms;
  for (const auto& row : plan.rows) total += row.count * 100us;
  return total;
}

/// The steps of two streams, beside which a prompt of 600 tokens is read.
std::vector<step_event> steps_of(std::chrono::nanoseconds target) {
  const auto received = std::make_shared<recorder>();
  toy_engine toy({.max_sequence_length = 1000, .max_batched_tokens = 64, .target_step_latency = target},
                 {.external_stepping = true, .events = received});
  toy.control->on_step = [&](const scheduler::step& plan) { toy.time->advance(time_of(plan)); };
  const auto ask = [&](int length) {
    return toy.running.generate(
        {.prompt = token_ids(static_cast<std::size_t>(length), 5), .max_tokens = 300, .max_buffered_tokens = 300});
  };
  const auto first = ask(3), second = ask(4);
  for (int i = 0; i < 4; ++i) toy.running.poll_one();
  const auto late = ask(600);
  while (toy.running.poll_one()) continue;
  return received->steps;
}

bool is_mixed(const step_event& step) { return step.rows == 3 && step.tokens > 3; }

}  // namespace

BOOST_AUTO_TEST_SUITE(step_times)

BOOST_DATA_TEST_CASE(a_prompt_holds_streams_up_no_longer_than_is_asked_for, boost::unit_test::data::make({3, 5, 20}),
                     milliseconds) {
  const auto target = std::chrono::milliseconds(milliseconds);
  int mixed = 0;
  for (const auto& step : steps_of(target)) {
    if (!is_mixed(step) || ++mixed <= 3) continue;  // while it learns
    BOOST_TEST((step.end - step.begin).count() <= std::chrono::nanoseconds(target).count() * 11 / 10);
  }
  BOOST_TEST(mixed >= 600 / 64);
  BOOST_TEST(mixed <= 600 / 4);
}

BOOST_AUTO_TEST_CASE(without_a_target_steps_are_full) {
  const auto steps = steps_of(scheduler::limits().target_step_latency);
  BOOST_TEST(std::ranges::count_if(steps, [](const auto& step) { return step.rows == 3 && step.tokens == 64; }) == 9);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
