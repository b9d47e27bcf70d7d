// What one row of a step fails for is that row's failure: the step goes on.
#include "engine/runner/model_runner.hpp"
#include "engine/sampling_state.hpp"
#include "failing_memory.hpp"
#include "model_engines.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

namespace cogen::test {
namespace {

struct no_swaps final : swap_listener {
  void on_swap_done(scheduler::swap_id, std::exception_ptr) noexcept override {}
  void post_to_engine_thread(std::function<void()>) noexcept override {}
} none;
const std::function<void()> on_done = [] {};

/// Fills `plan` with the next step: two slots begin with these tokens, and the logits of all are wanted of the second.
void plan_two_rows(step& plan, std::uint64_t number, const std::vector<token>& tokens) {
  using enum scheduler::output;
  const int count = static_cast<int>(tokens.size());
  plan.number = number;
  if (number > 1) plan.clears = {0, 1};
  plan.rows = {{scheduler::sequence_id{1}, 0, count, last_logits, false, 0, true},
               {scheduler::sequence_id{2}, 1, count, all_logits, false, count, true}};
  plan.tokens = joined(tokens, tokens);
  for (int row = 0; row < 2; ++row) {
    plan.add_row_sampling();
    plan.pad_samples();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(logits_without_memory_are_the_failure_of_their_row) {
  const auto model = golden_model("gemma3_text");
  auto slots = std::make_shared<detail::cpu_slots>(
      model->make_cache({.type = cache::scalar::f32, .slots = 2, .max_sequence_length = 64}));
  detail::model_runner runner(model, std::move(slots), "", {}, workspace(1, compute_type::float32));
  const auto tokens = some_tokens(*model, 9, 1);
  std::uint64_t number = 0;
  std::optional<std::vector<float>> expected;
  int failed[] = {0, 0};
  bool refused = true;
  for (long n = 0; refused; ++n) {
    step whole(none, on_done);
    plan_two_rows(whole, ++number, tokens);
    runner.launch(whole);
    BOOST_REQUIRE(whole.is_done() && !whole.error());
    const auto last = whole.output_of(0).scores.last();
    if (!expected) expected.emplace(last.begin(), last.end());
    step refused_some(none, on_done);
    plan_two_rows(refused_some, ++number, tokens);
    bool thrown = false;
    failing_memory::refuse(n);
    try {
      runner.launch(refused_some);
    } catch (...) {
      thrown = true;
    }
    refused = failing_memory::relent();
    if (thrown) continue;
    for (const std::size_t row : {0, 1}) {
      const auto& output = refused_some.output_of(row);
      if (!output.error) continue;
      BOOST_TEST((output.error.code() == error::out_of_memory));
      ++failed[row];
    }
    if (!refused_some.output_of(0).error) {
      const auto found = refused_some.output_of(0).scores.last();
      BOOST_TEST(std::vector<float>(found.begin(), found.end()) == *expected, boost::test_tools::per_element());
    }
  }
  BOOST_TEST(failed[0] == 1);
  BOOST_TEST(failed[1] == 1);
}

// A runner that samples on a device sends what describes the samples, whether rows have failed or not.
BOOST_AUTO_TEST_CASE(samples_of_a_row_without_memory_are_padding) {
  const sampling_params params{.repetition_penalty = 1.5, .logit_bias = {{3, 1.0}}, .logprobs = 4};
  detail::guide_allowance allowance;
  detail::sampling_state sequence(random_stream(1), allowance);
  sequence.parameters = std::make_shared<const sampler>(params, 64);
  for (const token id : {5, 6, 7}) sequence.append(id);
  int failures = 0;
  bool refused = true;
  for (long n = 0; refused; ++n) {
    step plan(none, on_done);
    plan.rows.push_back({.sequence = scheduler::sequence_id{1},
                         .slot = 0,
                         .count = 1,
                         .wanted = scheduler::output::sample,
                         .chained = false,
                         .first = 0,
                         .prefill = false});
    failing_memory::refuse(n);
    try {
      sequence.fill(plan, plan.rows[0]);
    } catch (const std::bad_alloc&) {
    }
    refused = failing_memory::relent();
    if (plan.sampling.rows.empty() || !plan.sampling.rows[0].is_out_of_memory) continue;
    ++failures;
    for (const auto& sample : plan.sampling.samples)
      BOOST_TEST(sample.top.count + sample.biases.count + sample.counts.count == 0U);
  }
  BOOST_TEST(failures > 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
