// Rounding moves numbers and not choices: routers read activations that no product rounds.
#include "network/backend/cpu/operators.hpp"
#include "network/backend/cpu/weight_reader.hpp"
#include "network/kernels/kernel_choice.hpp"
#include "network/nn/blocks.hpp"
#include "network/nn/part_reader.hpp"
#include "some_models.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

namespace cogen::test {
namespace {

constexpr std::int64_t hidden = 30;

using numbers = std::vector<float>;

/// The experts of a layer of jamba_tiny: 2 of 4, in bfloat16.
class experts {
 public:
  explicit experts(std::int64_t chosen = 2, const models::router_spec& router = {})
      : files_(golden_folder("jamba_tiny")),
        reader_(files_, workers_, {}),
        mixture_(nn::part_reader<cpu::forms, cpu::weight_reader>(files_.config(), {}, reader_)
                     .read(std::vector{one_block(chosen, router)})) {}

  /// What is added to one row or more.
  numbers operator()(numbers x, kernels::instruction_set set, compute_type mode) {
    numbers out = x;
    const auto rows = static_cast<std::int64_t>(x.size()) / hidden;
    const cache::step step({{.slot = 0, .count = static_cast<int>(rows)}});
    const cpu::forward_context context{{&workers_, set, mode}, step, cache_, {}, {}, space_};
    cpu::operators ops(context);
    mixture_.run(ops, {.data = out.data(), .rows = rows, .columns = hidden, .stride = hidden});
    std::ranges::transform(out, x, out.begin(), std::minus<>());
    return out;
  }

 private:
  static constexpr cache::kv_cache_spec one_layer{.kv_heads = 1, .head_dim = 8};

  static models::block_spec one_block(std::int64_t chosen, const models::router_spec& router) {
    return {.part = models::moe_spec{.expert = {.intermediate = 14}, .experts = 4, .top_k = chosen, .router = router},
            .prefix = "model.layers.1.feed_forward."};
  }

  kernels::worker_pool workers_{1};
  load::checkpoint files_;
  cpu::weight_reader reader_;
  nn::blocks<cpu::forms> mixture_;
  cache::cache cache_{{&one_layer, 1}, {.slots = 1, .max_sequence_length = 8}};
  cpu::arena space_;
};

numbers between(const numbers& start, const numbers& end, double share) {
  numbers x(start.size());
  std::ranges::transform(start, end, x.begin(), [share](float a, float b) {
    return static_cast<float>(a + share * (static_cast<double>(b) - a));
  });
  return x;
}

double distance(const numbers& a, const numbers& b) {
  double most = 0;
  for (std::size_t index = 0; index < a.size(); ++index) most = std::max(most, std::abs(double{a[index]} - b[index]));
  return most;
}

/// The sets here that round activations to bfloat16, native or emulated.
std::vector<kernels::instruction_set> rounding_sets() {
  auto sets = kernels::available_instruction_sets();
  std::ranges::copy(kernels::emulated_instruction_sets(), std::back_inserter(sets));
  std::erase_if(sets, [](auto set) { return !kernels::int8_kernels_of(set).multiply_bf16; });
  return sets;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(routing)

// Between two inputs that are sent to different experts lies one where the output jumps. Rounding must not move it.
BOOST_AUTO_TEST_CASE(the_same_experts_are_chosen_on_either_side_of_a_tie_with_rounding_and_without) {
  experts some;
  const auto sets = rounding_sets();
  if (sets.empty()) BOOST_TEST_MESSAGE("SKIPPED: no instruction set here rounds activations to bfloat16");
  for (const auto set : sets) {
    int ties = 0;
    for (unsigned seed = 0; seed < 80; ++seed) {
      std::mt19937 random(seed);
      std::normal_distribution<float> normal;
      numbers start(hidden), end(hidden);
      for (auto* ends : {&start, &end}) std::ranges::generate(*ends, [&] { return normal(random); });
      double low = 0, high = 1;  // halves the way to where the output changes most
      for (int round = 0; round < 16; ++round) {
        const double middle = (low + high) / 2;
        const auto lower = some(between(start, end, low), set, compute_type::float32);
        const auto half = some(between(start, end, middle), set, compute_type::float32);
        const auto upper = some(between(start, end, high), set, compute_type::float32);
        (distance(lower, half) > distance(half, upper) ? high : low) = middle;
      }
      const auto left = between(start, end, low), right = between(start, end, high);
      const double jump = distance(some(left, set, compute_type::float32), some(right, set, compute_type::float32));
      if (jump < 0.1) continue;  // the same experts from one end to the other
      ++ties;
      for (const auto& x : {left, right})
        BOOST_TEST(distance(some(x, set, compute_type::float32), some(x, set, compute_type::int8)) < jump / 2);
    }
    BOOST_TEST(ties > 5);
  }
}

// Logits are products, so a scaled row is sent to the same expert.
BOOST_AUTO_TEST_CASE(shares_may_scale_what_experts_read) {
  using models::router_spec;
  experts whole(1, {.scores = router_spec::scoring::sigmoid, .renormalized = true}),
      scaled_result(1, {.scores = router_spec::scoring::sigmoid}),
      scaled_input(1, {.scores = router_spec::scoring::sigmoid, .scales_input = true});
  const auto set = kernels::available_instruction_sets().front();
  numbers x(hidden);
  std::mt19937 random(3);
  std::ranges::generate(x, [&] { return std::normal_distribution<float>(0, 0.5F)(random); });
  const auto result = whole(x, set, compute_type::float32), part = scaled_result(x, set, compute_type::float32);
  const float share = part[0] / result[0];
  BOOST_TEST((share > 0 && share < 0.99F));
  const auto found = scaled_input(x, set, compute_type::float32);
  BOOST_TEST(distance(found, part) > 0.01);
  std::ranges::transform(x, x.begin(), [share](float value) { return value * share; });
  BOOST_TEST(distance(found, whole(x, set, compute_type::float32)) < 1e-4 * std::abs(result[0]));
}

BOOST_AUTO_TEST_CASE(a_row_that_is_no_number_stays_alone) {
  experts some;
  const auto set = kernels::available_instruction_sets().front();
  numbers good(hidden);
  std::iota(good.begin(), good.end(), -10.0F);
  numbers both = good;
  both.resize(2 * hidden, std::nanf(""));
  const auto alone = some(good, set, compute_type::float32), beside = some(both, set, compute_type::float32);
  BOOST_TEST(std::equal(alone.begin(), alone.end(), beside.begin()));
  BOOST_TEST(std::all_of(beside.begin() + hidden, beside.end(), [](float x) { return std::isnan(x); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
