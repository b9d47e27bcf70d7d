// What one row of a step fails for is that row's failure: the step goes on.
#include "engine/model_runner.hpp"
#include "failing_memory.hpp"
#include "model_engines.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <stdexcept>
#include <vector>

namespace cogen::test {
namespace {

/// A step of one's own. Nothing is sampled in it, and nothing moves.
class lone_step final : public step_in_progress, private swap_listener {
 public:
  explicit lone_step(scheduler::step what) : plan_(std::move(what)), outcomes_(plan_.rows.size()) {}

  const scheduler::step& plan() const override { return plan_; }
  std::span<row_output> outcomes() override { return outcomes_; }
  row_sampler& sampler_of(int) override { throw std::logic_error("nothing is sampled"); }
  swap_listener& transfers() override { return *this; }
  void done(std::exception_ptr error) noexcept override { well = !error; }

  bool well = false;

 private:
  void transferred(scheduler::swap_id, std::exception_ptr) noexcept override {}
  void go_on(std::function<void()>) noexcept override {}

  scheduler::step plan_;
  std::vector<row_output> outcomes_;
};

/// The next plan: two slots begin with these tokens, and the logits of all are wanted of the second one.
scheduler::step two_rows(std::uint64_t number, const std::vector<token>& tokens) {
  using enum scheduler::output;
  const int count = static_cast<int>(tokens.size());
  scheduler::step made;
  made.number = number;
  if (number > 1) made.clears = {0, 1};
  made.rows = {{scheduler::sequence_id{1}, 0, count, last_logits, false, 0},
               {scheduler::sequence_id{2}, 1, count, all_logits, false, count}};
  made.tokens = joined(tokens, tokens);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(logits_without_memory_are_the_failure_of_their_row) {
  const auto model = golden_model("gemma3_text");
  detail::model_runner runner(model, {.type = cache::scalar::f32, .slots = 2, .max_sequence_length = 64}, {}, nullptr,
                              {}, workspace(1, compute_type::float32));
  const auto tokens = some_tokens(*model, 9, 1);
  std::uint64_t number = 0;
  std::optional<std::vector<float>> expected;
  int failed[] = {0, 0};
  bool refused = true;
  for (long n = 0; refused; ++n) {
    lone_step whole(two_rows(++number, tokens));
    runner.launch(whole);
    BOOST_REQUIRE(whole.well);
    const auto last = whole.outcomes()[0].scores.last();
    if (!expected) expected.emplace(last.begin(), last.end());
    lone_step step(two_rows(++number, tokens));
    bool thrown = false;
    failing_memory::refuse(n);
    try {
      runner.launch(step);
    } catch (...) {
      thrown = true;
    }
    refused = failing_memory::relent();
    if (thrown) continue;
    for (int row : {0, 1}) {
      const auto& outcome = step.outcomes()[static_cast<std::size_t>(row)];
      if (!outcome.error) continue;
      BOOST_TEST((outcome.error.code() == error::out_of_memory));
      ++failed[row];
    }
    if (!step.outcomes()[0].error) {
      const auto found = step.outcomes()[0].scores.last();
      BOOST_TEST(std::vector<float>(found.begin(), found.end()) == *expected, boost::test_tools::per_element());
    }
  }
  BOOST_TEST(failed[0] == 1);
  BOOST_TEST(failed[1] == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
