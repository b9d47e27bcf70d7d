#include "network/kernels/selective_scan.hpp"

#include "recurrent_sequence.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::kernels {
namespace {

// What one sequence brings, each part [tokens, width] with rows lying densely.
struct scan_inputs {
  std::vector<float> x, gate, step, b, c;
};

struct scan {
  std::int64_t channels;
  int states;
  std::vector<float> decay = decays();
  std::vector<float> skip = random_floats(static_cast<std::size_t>(channels), 2);

  std::vector<float> decays() const {
    std::vector<float> values = random_floats(static_cast<std::size_t>(channels * states), 1);
    for (float& value : values) value = -std::exp(value);
    return values;
  }

  std::int64_t state_floats() const { return 2 + channels * states; }

  scan_inputs inputs(std::int64_t tokens, std::uint32_t seed) const {
    const auto wide = static_cast<std::size_t>(tokens * channels), narrow = static_cast<std::size_t>(tokens * states);
    return {random_floats(wide, seed), random_floats(wide, seed + 1, 2.0F), random_floats(wide, seed + 2, 3.0F),
            random_floats(narrow, seed + 3), random_floats(narrow, seed + 4)};
  }

  void operator()(const execution& run, std::span<const token_rows> rows, const scan_inputs& inputs,
                  std::int64_t position, float* out) const {
    selective_scan(run, rows,
                   {.x = {inputs.x.data() + position * channels, channels},
                    .gate = {inputs.gate.data() + position * channels, channels},
                    .step = {inputs.step.data() + position * channels, channels},
                    .b = {inputs.b.data() + position * states, states},
                    .c = {inputs.c.data() + position * states, states},
                    .decay = decay.data(),
                    .skip = skip.data(),
                    .out = {out + position * channels, channels},
                    .channels = channels,
                    .states = states,
                    .state_offset = 2});
  }

  std::vector<float> alone(const execution& run, const scan_inputs& inputs, std::int64_t tokens,
                           const std::vector<std::int64_t>& pieces) const {
    recurrent_states memory(1, state_floats());
    std::vector<float> out(inputs.x.size());
    run_in_pieces(memory, tokens, pieces, [&](std::int64_t position, const token_rows& row) {
      (*this)(run, {&row, 1}, inputs, position, out.data());
    });
    const std::vector<float> left = memory.state(0);
    out.insert(out.end(), left.begin() + 2, left.end());
    return out;
  }

  // Outputs [tokens, channels], then the state that is left [states, channels].
  std::vector<double> expected(const scan_inputs& inputs, std::int64_t tokens) const {
    const auto element = [](const std::vector<float>& values, std::int64_t index) {
      return double{values[static_cast<std::size_t>(index)]};
    };
    std::vector<double> h(static_cast<std::size_t>(channels * states)), out;
    for (std::int64_t token = 0; token < tokens; ++token)
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::int64_t place = token * channels + channel;
        const double x = element(inputs.x, place), gate = element(inputs.gate, place);
        const double d = std::log1p(std::exp(element(inputs.step, place)));
        double sum = element(skip, channel) * x;
        for (std::int64_t n = 0; n < states; ++n) {
          double& state = h[static_cast<std::size_t>(n * channels + channel)];
          state = std::exp(d * element(decay, n * channels + channel)) * state +
                  d * x * element(inputs.b, token * states + n);
          sum += state * element(inputs.c, token * states + n);
        }
        out.push_back(sum * gate / (1 + std::exp(-gate)));
      }
    out.insert(out.end(), h.begin(), h.end());
    return out;
  }
};

// The scan of one token from an empty state, by which out = 64 log(1 + e^step).
std::vector<float> softplus_by_scan(const execution& run, const std::vector<float>& step) {
  const auto channels = static_cast<std::int64_t>(step.size());
  scan once{.channels = channels, .states = 1};
  std::fill(once.decay.begin(), once.decay.end(), 0.0F);
  std::fill(once.skip.begin(), once.skip.end(), 0.0F);
  const scan_inputs inputs{.x = std::vector<float>(step.size(), 1.0F),
                           .gate = std::vector<float>(step.size(), 64.0F),
                           .step = step,
                           .b = {1.0F},
                           .c = {1.0F}};
  std::vector<float> out = once.alone(run, inputs, 1, {1});
  out.resize(step.size());
  return out;
}

BOOST_AUTO_TEST_SUITE(selective_scan_test)

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle) {
  worker_pool workers(2);
  for (const auto& [channels, states] : {std::pair{1, 1}, {7, 5}, {33, 16}, {64, 7}, {200, 16}, {1536, 16}})
    for_each_set(workers, [&](const execution& run) {
      const scan scan{.channels = channels, .states = states};
      const std::int64_t tokens = 19;
      const scan_inputs inputs = scan.inputs(tokens, 3);
      const std::vector<float> out = scan.alone(run, inputs, tokens, {tokens});
      const std::vector<double> wanted = scan.expected(inputs, tokens);
      double worst = 0, largest = 0;
      for (std::size_t index = 0; index < wanted.size(); ++index) {
        worst = std::max(worst, std::abs(out[index] - wanted[index]));
        largest = std::max(largest, std::abs(wanted[index]));
      }
      BOOST_TEST(worst < 1e-6 * largest, channels << " channels, " << states << " states: " << worst / largest);
    });
}

BOOST_AUTO_TEST_CASE(pieces_of_any_size_give_the_same_bits) {
  worker_pool workers(2);
  for (const std::int64_t channels : {7, 100, 1000})
    for_each_set(workers, [&](const execution& run) {
      const scan scan{.channels = channels, .states = 9};
      const scan_inputs inputs = scan.inputs(40, 3);
      const std::vector<float> whole = scan.alone(run, inputs, 40, {40});
      for (const auto& pieces : {std::vector<std::int64_t>{1}, {3}, {7}, {1, 5, 2}})
        BOOST_TEST((scan.alone(run, inputs, 40, pieces) == whole), "pieces of " << pieces.front());
    });
}

BOOST_AUTO_TEST_CASE(other_rows_change_nothing) {
  worker_pool workers(3);
  for_each_set(workers, [&](const execution& run) {
    const scan scan{.channels = 150, .states = 4};
    const scan_inputs inputs = scan.inputs(42, 5);
    const std::vector<std::int64_t> counts = {1, 9, 2, 30};
    recurrent_states memory(4, scan.state_floats());
    std::vector<token_rows> rows;
    for (std::int64_t row = 0, first = 0; row < 4; first += counts[static_cast<std::size_t>(row++)])
      rows.push_back(memory.row(row, first, counts[static_cast<std::size_t>(row)]));
    std::vector<float> together(inputs.x.size()), apart(inputs.x.size());
    scan(run, rows, inputs, 0, together.data());
    worker_pool alone(1);
    for (token_rows& row : rows) scan({&alone, run.set}, {&row, 1}, inputs, 0, apart.data());
    BOOST_TEST((together == apart));
  });
}

BOOST_AUTO_TEST_CASE(the_step_is_accurate_over_its_whole_range) {
  worker_pool workers(1);
  std::vector<float> step;
  for (float value = -86.0F; value < 60.0F; value += 0.013F) step.push_back(value);
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> out = softplus_by_scan(run, step);
    double worst = 0;
    for (std::size_t index = 0; index < step.size(); ++index) {
      const double wanted = 64 * (std::max(0.0F, step[index]) + std::log1p(std::exp(-std::abs(double{step[index]}))));
      worst = std::max(worst, std::abs(out[index] - wanted) / wanted);
    }
    BOOST_TEST(worst < 4e-7);
  });
}

BOOST_AUTO_TEST_CASE(an_extreme_step_stays_what_it_is) {
  worker_pool workers(1);
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> out = softplus_by_scan(run, {-INFINITY, -1000.0F, 1000.0F, std::nanf("")});
    BOOST_TEST(out[0] == 0.0F);
    BOOST_TEST(out[1] == 0.0F);
    BOOST_TEST(out[2] == 64000.0F);
    BOOST_TEST(std::isnan(out[3]));
  });
}

BOOST_AUTO_TEST_CASE(output_may_lie_where_an_input_lay) {
  worker_pool workers(1);
  for_each_set(workers, [&](const execution& run) {
    const scan scan{.channels = 37, .states = 3};
    scan_inputs inputs = scan.inputs(6, 3);
    std::vector<float> wanted = scan.alone(run, inputs, 6, {6});
    wanted.resize(inputs.x.size());
    recurrent_states memory(1, scan.state_floats());
    const token_rows row = memory.row(0, 0, 6);
    scan(run, {&row, 1}, inputs, 0, inputs.x.data());
    BOOST_TEST((inputs.x == wanted));
  });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  const scan layer{.channels = 70, .states = 5};
  const scan_inputs inputs = layer.inputs(9, 4);
  check_emulations(workers, [&](const execution& run) { return layer.alone(run, inputs, 9, {9}); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
