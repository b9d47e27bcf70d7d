#include "network/kernels/linear_attention.hpp"

#include "recurrent_sequence.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::kernels {
namespace {

// What one sequence brings: queries and keys [tokens, key_heads, key_width], values [tokens, heads, value_width], gates
// [tokens, heads].
struct attention_inputs {
  std::vector<float> q, k, v, decay, rate;
};

struct state_attention {
  std::int64_t heads, key_heads, key_width, value_width;
  bool tiled = false;
  bool delta = true;
  bool skips = false;
  std::int64_t state_offset = 3;
  std::vector<float> skip = random_floats(static_cast<std::size_t>(heads), 2);

  std::int64_t keys() const { return key_heads * key_width; }
  std::int64_t values() const { return heads * value_width; }
  std::int64_t state_floats() const { return state_offset + values() * key_width; }

  // Keys shorter than 1, or the delta rule does not forget.
  attention_inputs inputs(std::int64_t tokens, std::uint32_t seed) const {
    const auto floats = [&](std::int64_t width, std::uint32_t which, float scale) {
      return random_floats(static_cast<std::size_t>(tokens * width), seed + which, scale);
    };
    const float short_key = 0.6F / std::sqrt(static_cast<float>(key_width));
    attention_inputs result{floats(keys(), 0, 1), floats(keys(), 1, short_key), floats(values(), 2, 1),
                            floats(heads, 3, 1), floats(heads, 4, 1)};
    for (auto* gates : {&result.decay, &result.rate})
      for (float& value : *gates) value = 1 / (1 + std::exp(-value));
    return result;
  }

  void operator()(const execution& run, std::span<const token_rows> rows, const attention_inputs& inputs,
                  std::int64_t position, float* out) const {
    linear_attention(run, rows,
                     {.q = {inputs.q.data() + position * keys(), keys()},
                      .k = {inputs.k.data() + position * keys(), keys()},
                      .v = {inputs.v.data() + position * values(), values()},
                      .decay = {inputs.decay.data() + position * heads, heads},
                      .rate = {inputs.rate.data() + position * heads, heads},
                      .skip = skips ? skip.data() : nullptr,
                      .out = {out + position * values(), values()},
                      .heads = heads,
                      .key_heads = key_heads,
                      .key_width = key_width,
                      .value_width = value_width,
                      .tiled = tiled,
                      .delta = delta,
                      .state_offset = state_offset});
  }

  // Outputs, then the state that is left.
  std::vector<float> alone(const execution& run, const attention_inputs& inputs, std::int64_t tokens,
                           const std::vector<std::int64_t>& pieces) const {
    recurrent_states memory(1, state_floats());
    std::vector<float> out(inputs.v.size());
    run_in_pieces(memory, tokens, pieces, [&](std::int64_t position, const token_rows& row) {
      (*this)(run, {&row, 1}, inputs, position, out.data());
    });
    const std::vector<float> left = memory.state(0);
    out.insert(out.end(), left.begin() + state_offset, left.end());
    return out;
  }

  std::vector<double> expected(const attention_inputs& inputs, std::int64_t tokens) const {
    const auto element = [](const std::vector<float>& numbers, std::int64_t index) {
      return double{numbers[static_cast<std::size_t>(index)]};
    };
    std::vector<double> states(static_cast<std::size_t>(values() * key_width)), out;
    for (std::int64_t token = 0; token < tokens; ++token)
      for (std::int64_t head = 0; head < heads; ++head) {
        const auto shared = tiled ? head % key_heads : head / (heads / key_heads);
        const auto key = token * keys() + shared * key_width;
        const double decay = element(inputs.decay, token * heads + head),
                     rate = element(inputs.rate, token * heads + head);
        for (std::int64_t column = 0; column < value_width; ++column) {
          const auto state = [&](std::int64_t index) -> double& {
            return states[static_cast<std::size_t>((head * key_width + index) * value_width + column)];
          };
          const double value = element(inputs.v, token * values() + head * value_width + column);
          double known = 0;
          for (std::int64_t index = 0; index < key_width; ++index) {
            state(index) *= decay;
            if (delta) known += state(index) * element(inputs.k, key + index);
          }
          double sum = skips ? element(skip, head) * value : 0;
          for (std::int64_t index = 0; index < key_width; ++index) {
            state(index) += element(inputs.k, key + index) * rate * (value - known);
            sum += state(index) * element(inputs.q, key + index);
          }
          out.push_back(sum);
        }
      }
    out.insert(out.end(), states.begin(), states.end());
    return out;
  }
};

const std::vector<state_attention>& shapes() {
  static const std::vector<state_attention> cases{
      {.heads = 1, .key_heads = 1, .key_width = 1, .value_width = 1},
      {.heads = 6, .key_heads = 2, .key_width = 5, .value_width = 7},
      {.heads = 6, .key_heads = 3, .key_width = 9, .value_width = 33, .tiled = true},
      {.heads = 4, .key_heads = 2, .key_width = 12, .value_width = 130, .delta = false, .skips = true},
      {.heads = 3, .key_heads = 1, .key_width = 128, .value_width = 64, .delta = false, .skips = true},
      {.heads = 4, .key_heads = 2, .key_width = 128, .value_width = 128}};
  return cases;
}

BOOST_AUTO_TEST_SUITE(linear_attention_test)

BOOST_AUTO_TEST_CASE(agrees_with_a_naive_twin) {
  worker_pool workers(2);
  for (const auto& attend : shapes())
    for_each_set(workers, [&](const execution& run) {
      const std::int64_t tokens = 19;
      const auto inputs = attend.inputs(tokens, 3);
      const auto out = attend.alone(run, inputs, tokens, {tokens});
      const auto wanted = attend.expected(inputs, tokens);
      double worst = 0, largest = 0;
      for (std::size_t index = 0; index < wanted.size(); ++index) {
        worst = std::max(worst, std::abs(out[index] - wanted[index]));
        largest = std::max(largest, std::abs(wanted[index]));
      }
      BOOST_TEST(worst < 1e-6 * largest,
                 attend.heads << " heads, " << attend.key_width << " keys: " << worst / largest);
    });
}

BOOST_AUTO_TEST_CASE(pieces_of_any_size_give_the_same_bits) {
  worker_pool workers(2);
  for (const auto& attend : shapes())
    for_each_set(workers, [&](const execution& run) {
      const auto inputs = attend.inputs(40, 3);
      const auto whole = attend.alone(run, inputs, 40, {40});
      for (const auto& pieces : {std::vector<std::int64_t>{1}, {3}, {7}, {1, 5, 2}})
        BOOST_TEST((attend.alone(run, inputs, 40, pieces) == whole), "pieces of " << pieces.front());
    });
}

// Where lines of the cache begin at rows of a state, it is written past the caches.
BOOST_AUTO_TEST_CASE(the_place_of_a_state_changes_nothing) {
  worker_pool workers(2);
  for (auto attend : shapes())
    for_each_set(workers, [&](const execution& run) {
      const auto inputs = attend.inputs(5, 6);
      attend.state_offset = 0;
      const auto wanted = attend.alone(run, inputs, 5, {2, 1});
      for (attend.state_offset = 1; attend.state_offset < 16; ++attend.state_offset)
        BOOST_TEST((attend.alone(run, inputs, 5, {2, 1}) == wanted), "at " << attend.state_offset);
    });
}

BOOST_AUTO_TEST_CASE(other_rows_change_nothing) {
  worker_pool workers(3);
  for (const auto& attend : shapes())
    for_each_set(workers, [&](const execution& run) {
      const auto inputs = attend.inputs(42, 5);
      const std::vector<std::int64_t> counts = {1, 9, 2, 30};
      recurrent_states memory(4, attend.state_floats());
      std::vector<token_rows> rows;
      for (std::int64_t row = 0, first = 0; row < 4; first += counts[static_cast<std::size_t>(row++)])
        rows.push_back(memory.row(row, first, counts[static_cast<std::size_t>(row)]));
      std::vector<float> together(inputs.v.size()), apart(inputs.v.size());
      attend(run, rows, inputs, 0, together.data());
      worker_pool alone(1);
      for (token_rows& row : rows) attend({&alone, run.set}, {&row, 1}, inputs, 0, apart.data());
      BOOST_TEST((together == apart));
    });
}

BOOST_AUTO_TEST_CASE(output_may_lie_where_the_values_lay) {
  worker_pool workers(1);
  const auto& attend = shapes().at(2);
  for_each_set(workers, [&](const execution& run) {
    auto inputs = attend.inputs(6, 3);
    auto wanted = attend.alone(run, inputs, 6, {6});
    wanted.resize(inputs.v.size());
    recurrent_states memory(1, attend.state_floats());
    const token_rows row = memory.row(0, 0, 6);
    attend(run, {&row, 1}, inputs, 0, inputs.v.data());
    BOOST_TEST((inputs.v == wanted));
  });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  for (const auto& attend : shapes()) {
    const auto inputs = attend.inputs(9, 4);
    check_emulations(workers, [&](const execution& run) { return attend.alone(run, inputs, 9, {9}); });
  }
}

BOOST_AUTO_TEST_CASE(steps_and_decays_agree_with_their_formulas) {
  worker_pool workers(1);
  const std::int64_t tokens = 50, heads = 21;
  const auto x = random_floats(tokens * heads, 1, 5.0F), bias = random_floats(heads, 2);
  auto rate = random_floats(heads, 3);
  for (float& value : rate) value = -std::exp(value);
  for_each_set(workers, [&](const execution& run) {
    std::vector<float> step(x.size()), decay(x.size());
    head_decay(run, {.x = {x.data(), heads},
                     .bias = bias.data(),
                     .rate = rate.data(),
                     .step = {step.data(), heads},
                     .decay = {decay.data(), heads},
                     .tokens = tokens,
                     .heads = heads});
    for (std::size_t index = 0; index < x.size(); ++index) {
      const auto head = index % static_cast<std::size_t>(heads);
      const double wanted = std::log1p(std::exp(static_cast<double>(x[index] + bias[head])));
      BOOST_REQUIRE(std::abs(step[index] - wanted) <= 4e-7 * wanted);
      const double kept = std::exp(wanted * rate[head]);
      BOOST_REQUIRE(std::abs(decay[index] - kept) <= 1e-6 * kept * (1 - wanted * rate[head]) + 1e-37);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
