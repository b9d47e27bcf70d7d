#include "network/kernels/time_mix.hpp"

#include "recurrent_sequence.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::kernels {
namespace {

// What one sequence brings, each part [tokens, channels].
struct mix_inputs {
  std::vector<float> k, v, gate;
};

struct mixer {
  std::int64_t channels;
  float range = 3;  // of keys
  std::vector<float> decay = decays();
  std::vector<float> first = random_floats(static_cast<std::size_t>(channels), 2);

  std::vector<float> decays() const {
    std::vector<float> values = random_floats(static_cast<std::size_t>(channels), 1, 3.0F);
    for (float& value : values) value = -std::exp(value);
    return values;
  }

  std::int64_t state_floats() const { return 5 + 3 * channels; }

  mix_inputs inputs(std::int64_t tokens, std::uint32_t seed) const {
    const auto size = static_cast<std::size_t>(tokens * channels);
    return {random_floats(size, seed, range), random_floats(size, seed + 1), random_floats(size, seed + 2, 2.0F)};
  }

  void operator()(const execution& run, std::span<const token_rows> rows, const mix_inputs& inputs,
                  std::int64_t position, float* out) const {
    time_mix(run, rows,
             {.k = {inputs.k.data() + position * channels, channels},
              .v = {inputs.v.data() + position * channels, channels},
              .gate = {inputs.gate.data() + position * channels, channels},
              .decay = decay.data(),
              .first = first.data(),
              .out = {out + position * channels, channels},
              .channels = channels,
              .state_offset = 5});
  }

  std::vector<float> alone(const execution& run, const mix_inputs& inputs, std::int64_t tokens,
                           const std::vector<std::int64_t>& pieces) const {
    recurrent_states memory(1, state_floats());
    std::vector<float> out(inputs.k.size());
    run_in_pieces(memory, tokens, pieces, [&](std::int64_t position, const token_rows& row) {
      (*this)(run, {&row, 1}, inputs, position, out.data());
    });
    const std::vector<float> left = memory.state(0);
    out.insert(out.end(), left.begin() + 5, left.end());
    return out;
  }

  // Sums over all tokens, from nothing.
  std::vector<double> expected(const mix_inputs& inputs, std::int64_t tokens) const {
    std::vector<double> out;
    for (std::int64_t token = 0; token < tokens; ++token)
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const auto c = static_cast<std::size_t>(channel);
        double values = 0, weights = 0;
        for (std::int64_t earlier = 0; earlier <= token; ++earlier) {
          const auto index = static_cast<std::size_t>(earlier * channels + channel);
          const double faded = static_cast<double>(token - 1 - earlier) * decay[c];
          const double weight = std::exp((earlier == token ? first[c] : faded) + inputs.k[index]);
          values += weight * inputs.v[index];
          weights += weight;
        }
        out.push_back(values / weights / (1 + std::exp(-inputs.gate[static_cast<std::size_t>(token * channels) + c])));
      }
    return out;
  }
};

double worst_difference(const std::vector<float>& found, const std::vector<double>& wanted) {
  double worst = 0;
  for (std::size_t index = 0; index < wanted.size(); ++index)
    worst = std::max(worst, std::abs(found[index] - wanted[index]));
  const bool finite = std::ranges::all_of(found, [](float value) { return std::isfinite(value); });
  return finite ? worst : INFINITY;
}

BOOST_AUTO_TEST_SUITE(time_mix_test)

BOOST_AUTO_TEST_CASE(agrees_with_sums_over_all_tokens) {
  worker_pool workers(2);
  for (const std::int64_t channels : {1, 7, 33, 64, 200, 1536})
    for_each_set(workers, [&](const execution& run) {
      const mixer mixer{.channels = channels};
      const mix_inputs inputs = mixer.inputs(19, 3);
      const double worst = worst_difference(mixer.alone(run, inputs, 19, {19}), mixer.expected(inputs, 19));
      BOOST_TEST(worst < 3e-6, channels << " channels: " << worst);  // exponents are near 10
    });
}

BOOST_AUTO_TEST_CASE(no_key_is_too_large_or_too_small) {
  worker_pool workers(1);
  for_each_set(workers, [&](const execution& run) {
    const mixer mixer{.channels = 50, .range = 100};
    const mix_inputs inputs = mixer.inputs(30, 8);
    const double worst = worst_difference(mixer.alone(run, inputs, 30, {30}), mixer.expected(inputs, 30));
    BOOST_TEST(worst < 1e-3, worst);  // exponents are near 300, where float32 numbers are 3e-5 apart
  });
}

BOOST_AUTO_TEST_CASE(pieces_of_any_size_give_the_same_bits) {
  worker_pool workers(2);
  for (const std::int64_t channels : {7, 100, 1000})
    for_each_set(workers, [&](const execution& run) {
      const mixer mixer{.channels = channels};
      const mix_inputs inputs = mixer.inputs(40, 3);
      const std::vector<float> whole = mixer.alone(run, inputs, 40, {40});
      for (const auto& pieces : {std::vector<std::int64_t>{1}, {3}, {7}, {1, 5, 2}})
        BOOST_TEST((mixer.alone(run, inputs, 40, pieces) == whole), "pieces of " << pieces.front());
    });
}

BOOST_AUTO_TEST_CASE(other_rows_change_nothing) {
  worker_pool workers(3);
  for_each_set(workers, [&](const execution& run) {
    const mixer mixer{.channels = 150};
    const mix_inputs inputs = mixer.inputs(42, 5);
    const std::vector<std::int64_t> counts = {1, 9, 2, 30};
    recurrent_states memory(4, mixer.state_floats());
    std::vector<token_rows> rows;
    for (std::int64_t row = 0, first = 0; row < 4; first += counts[static_cast<std::size_t>(row++)])
      rows.push_back(memory.row(row, first, counts[static_cast<std::size_t>(row)]));
    std::vector<float> together(inputs.k.size()), apart(inputs.k.size());
    mixer(run, rows, inputs, 0, together.data());
    worker_pool alone(1);
    for (token_rows& row : rows) mixer({&alone, run.set}, {&row, 1}, inputs, 0, apart.data());
    BOOST_TEST((together == apart));
  });
}

BOOST_AUTO_TEST_CASE(output_may_lie_where_an_input_lay) {
  worker_pool workers(1);
  for_each_set(workers, [&](const execution& run) {
    const mixer mixer{.channels = 37};
    for (auto input : {&mix_inputs::k, &mix_inputs::v, &mix_inputs::gate}) {
      mix_inputs inputs = mixer.inputs(6, 3);
      std::vector<float> wanted = mixer.alone(run, inputs, 6, {6});
      wanted.resize(inputs.k.size());
      recurrent_states memory(1, mixer.state_floats());
      const token_rows row = memory.row(0, 0, 6);
      mixer(run, {&row, 1}, inputs, 0, (inputs.*input).data());
      BOOST_TEST((inputs.*input == wanted));
    }
  });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  const mixer layer{.channels = 70};
  const mix_inputs inputs = layer.inputs(9, 4);
  check_emulations(workers, [&](const execution& run) { return layer.alone(run, inputs, 9, {9}); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
