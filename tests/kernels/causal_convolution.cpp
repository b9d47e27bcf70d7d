#include "network/kernels/causal_convolution.hpp"

#include "recurrent_sequence.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::kernels {
namespace {

struct convolution {
  std::int64_t channels;
  int taps;
  bool biased = true;
  bool silu = true;
  std::vector<float> weight = random_floats(static_cast<std::size_t>(channels * taps), 1);
  std::vector<float> bias = random_floats(static_cast<std::size_t>(channels), 2);

  // Inputs and outputs have a stride of channels + 3.
  std::int64_t stride() const { return channels + 3; }
  std::int64_t state_floats() const { return 5 + channels * (taps - 1); }

  std::vector<float> inputs(std::int64_t tokens, std::uint32_t seed) const {
    return random_floats(static_cast<std::size_t>(tokens * stride()), seed);
  }

  void operator()(const execution& run, std::span<const token_rows> rows, const float* x, float* out) const {
    causal_convolution(run, rows,
                       {.x = {x, stride()},
                        .weight = weight.data(),
                        .bias = biased ? bias.data() : nullptr,
                        .out = {out, stride()},
                        .channels = channels,
                        .taps = taps,
                        .silu = silu,
                        .state_offset = 5});
  }

  std::vector<float> alone(const execution& run, const std::vector<float>& x, std::int64_t tokens,
                           const std::vector<std::int64_t>& pieces) const {
    recurrent_states states(1, state_floats());
    std::vector<float> out(x.size());
    run_in_pieces(states, tokens, pieces, [&](std::int64_t position, const token_rows& row) {
      (*this)(run, {&row, 1}, x.data() + position * stride(), out.data() + position * stride());
    });
    return out;
  }

  double expected(const std::vector<float>& x, std::int64_t token, std::int64_t channel) const {
    double sum = biased ? bias[static_cast<std::size_t>(channel)] : 0.0;
    for (int tap = 0; tap < taps; ++tap) {
      const std::int64_t source = token + tap - (taps - 1);
      if (source < 0) continue;
      sum += double{x[static_cast<std::size_t>(source * stride() + channel)]} *
             weight[static_cast<std::size_t>(tap * channels + channel)];
    }
    return silu ? sum / (1 + std::exp(-sum)) : sum;
  }
};

BOOST_AUTO_TEST_SUITE(causal_convolution_test)

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle) {
  worker_pool workers(2);
  for (const auto& [channels, taps] : {std::pair{1, 1}, {7, 2}, {33, 4}, {64, 3}, {200, 4}, {1536, 4}, {130, 9}})
    for (const bool biased : {true, false})
      for_each_set(workers, [&](const execution& run) {
        const convolution convolve{.channels = channels, .taps = taps, .biased = biased, .silu = taps != 3};
        const std::int64_t tokens = 11;
        const std::vector<float> x = convolve.inputs(tokens, 3);
        const std::vector<float> out = convolve.alone(run, x, tokens, {tokens});
        double worst = 0;
        for (std::int64_t token = 0; token < tokens; ++token)
          for (std::int64_t channel = 0; channel < channels; ++channel)
            worst = std::max(worst, std::abs(out[static_cast<std::size_t>(token * convolve.stride() + channel)] -
                                             convolve.expected(x, token, channel)));
        BOOST_TEST(worst < 4e-6, channels << " channels, " << taps << " taps: " << worst);
      });
}

BOOST_AUTO_TEST_CASE(pieces_of_any_size_give_the_same_bits) {
  worker_pool workers(2);
  for (const std::int64_t channels : {7, 100, 1000})
    for_each_set(workers, [&](const execution& run) {
      const convolution convolve{.channels = channels, .taps = 4};
      const std::vector<float> x = convolve.inputs(40, 3);
      const std::vector<float> whole = convolve.alone(run, x, 40, {40});
      for (const auto& pieces : {std::vector<std::int64_t>{1}, {2}, {3}, {4}, {7}, {1, 5, 2}})
        BOOST_TEST((convolve.alone(run, x, 40, pieces) == whole), "pieces of " << pieces.front());
    });
}

BOOST_AUTO_TEST_CASE(other_rows_change_nothing) {
  worker_pool workers(3);
  for_each_set(workers, [&](const execution& run) {
    const convolution convolve{.channels = 77, .taps = 4};
    const std::vector<std::int64_t> counts = {1, 9, 2, 30};
    recurrent_states states(4, convolve.state_floats());
    std::vector<token_rows> rows;
    std::vector<float> x, together;
    std::int64_t tokens = 0;
    for (std::size_t row = 0; row < counts.size(); ++row) {
      const std::vector<float> inputs = convolve.inputs(counts[row], 10 + static_cast<std::uint32_t>(row));
      rows.push_back(states.row(static_cast<std::int64_t>(row), tokens, counts[row]));
      x.insert(x.end(), inputs.begin(), inputs.end());
      tokens += counts[row];
    }
    together.resize(x.size());
    convolve(run, rows, x.data(), together.data());
    std::vector<float> apart;
    for (std::size_t row = 0; row < counts.size(); ++row) {
      const std::vector<float> out =
          convolve.alone(run, convolve.inputs(counts[row], 10 + static_cast<std::uint32_t>(row)), counts[row], {100});
      apart.insert(apart.end(), out.begin(), out.end());
    }
    BOOST_TEST((together == apart));
  });
}

BOOST_AUTO_TEST_CASE(the_state_holds_the_last_inputs_oldest_first) {
  worker_pool workers(1);
  for_each_set(workers, [&](const execution& run) {
    const convolution convolve{.channels = 21, .taps = 4};
    const std::vector<float> x = convolve.inputs(5, 3);
    std::vector<float> out(x.size());
    recurrent_states states(1, convolve.state_floats());
    run_in_pieces(states, 5, {2}, [&](std::int64_t position, const token_rows& row) {
      convolve(run, {&row, 1}, x.data() + position * convolve.stride(), out.data() + position * convolve.stride());
      BOOST_TEST(std::isnan(row.final_state[4]));  // before the part that is this kernel's
    });
    const std::vector<float> kept = states.state(0);
    for (std::size_t tap = 0; tap < 3; ++tap)
      for (std::size_t channel = 0; channel < 21; ++channel)
        BOOST_REQUIRE(kept[5 + tap * 21 + channel] == x[(2 + tap) * 24 + channel]);
  });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  const convolution convolve{.channels = 130, .taps = 4};
  const std::vector<float> x = convolve.inputs(11, 3);
  check_emulations(workers, [&](const execution& run) { return convolve.alone(run, x, 11, {11}); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
