// What shards of a part make adds up to what the whole part makes.
#include "tested_backend.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <cmath>
#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

namespace cogen::kernels {

inline std::ostream& operator<<(std::ostream& out, weight_packing packing) {
  return out << "packing " << static_cast<int>(packing);
}

}  // namespace cogen::kernels

namespace cogen::test {

namespace {

constexpr std::int64_t hidden = 64, inner = 32, row_count = 37;

at::TensorOptions numbers(at::ScalarType type = at::kFloat) {
  return at::TensorOptions(tested_backend()->device()).dtype(type);
}

at::Tensor random(std::vector<std::int64_t> sizes, at::ScalarType type) {
  return (at::randn(sizes, numbers()) / 8).to(type);
}

using kernels::weight_packing;

constexpr weight_packing packings[] = {
    weight_packing::whole,       weight_packing::int8,       weight_packing::int4,
    weight_packing::int5,        weight_packing::int6,       weight_packing::int6_zeros,
    weight_packing::int8_groups, weight_packing::int8_zeros, weight_packing::mxfp4};

/// With bfloat16 weights, or any codes and scales.
device::projection any_product(device::operators& ops, weight_packing packing, std::int64_t outputs) {
  if (packing == weight_packing::whole) return {random({outputs, hidden}, at::kBFloat16)};
  const int bits = kernels::form_of(packing).bits;
  const auto result = device::make_quantized_rows(packing, outputs, hidden, numbers(at::kBFloat16));
  result.codes.random_(bits == 8 ? -127 : 0, bits == 8 ? 128 : 1 << bits);
  result.scales.normal_(0, 1.0 / (1 << bits));
  const auto packed = ops.pack(result);
  return {.weights = packed.codes, .scales = packed.scales, .packing = packing};
}

/// Experts [first, first + count) of all; all of them are no shard.
device::mixture_of_experts experts_of(const std::vector<parts::mlp<device::tensors>>& mlps, std::int64_t first,
                                      std::int64_t count) {
  const auto experts = static_cast<std::int64_t>(mlps.size());
  device::mixture_of_experts result{
      .spec = {.expert = {}, .experts = experts, .top_k = 3}, .router = {}, .choice_bias = {}, .experts = {}};
  if (count < experts) result.spec.owned = {.first = first, .count = count, .total = experts};
  result.experts.assign(mlps.begin() + first, mlps.begin() + first + count);
  std::vector<device::projection*> up, down;
  for (auto& each : result.experts) up.push_back(&each.up), down.push_back(&each.down);
  result.up = device::tensors::stack(up);
  result.down = device::tensors::stack(down);
  return result;
}

/// Three experts of each row; the first rows have no expert behind the third.
at::Tensor shares_of(std::int64_t experts) {
  auto shares = at::zeros({row_count, experts}, numbers());
  for (std::int64_t row = 0; row < row_count; ++row)
    for (const std::int64_t pick : {0, 1, 2})
      shares.select(0, row)
          .select(0, row < 5 ? pick : (row + 2 * pick) % experts)
          .fill_(0.2 + 0.1 * static_cast<double>(pick));
  return shares;
}

BOOST_AUTO_TEST_SUITE(device_shards, *boost::unit_test::precondition(the_tested_place()))

BOOST_DATA_TEST_CASE(vectors_of_shards_add_up_to_embeddings, boost::unit_test::data::make(packings), packing) {
  constexpr std::int64_t vocabulary = 101;
  const auto ops = tested_backend()->make_operators();
  const auto table = any_product(*ops, packing, vocabulary);
  device::step_rows step;
  step.ids = at::randint(0, vocabulary, {row_count}, numbers(at::kInt));
  step.ids.narrow(0, 3, 2).fill_(-1);
  step.slots = at::zeros({row_count}, numbers(at::kInt));
  step.slots.select(0, 3).fill_(1);
  step.positions = at::zeros({row_count}, numbers(at::kInt));
  step.single = row_count;
  const auto last = at::tensor({7, 90}, at::kInt).to(numbers().device());
  const device::embedding whole{.table = table, .width = hidden};
  const auto expected = at::empty({row_count, hidden}, numbers());
  ops->embed(whole, step, last, expected);
  auto sum = at::zeros({row_count, hidden}, numbers());
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 50}, {50, 1}, {51, 50}}) {
    const auto found = at::empty({row_count, hidden}, numbers());
    const device::embedding shard{.table = device::outputs_of(table, first, count),
                                  .vocabulary = {.first = first, .count = count, .total = vocabulary},
                                  .width = hidden};
    ops->find_vectors(shard, step, last, found);
    sum.add_(found);
  }
  const auto result = at::empty({row_count, hidden}, numbers());
  ops->finish_embedding(whole, step, sum, result);
  BOOST_TEST(at::equal(result, expected));
}

/// In a step with one row for each input, products of packed weights unpack them.
BOOST_DATA_TEST_CASE(tokens_find_the_numbers_that_products_multiply_by, boost::unit_test::data::make(packings),
                     packing) {
  constexpr std::int64_t vocabulary = 101;
  const auto ops = tested_backend()->make_operators();
  const auto table = any_product(*ops, packing, vocabulary);
  const auto numbers_of_inputs = at::empty({hidden, vocabulary}, numbers());
  ops->norm_linear(at::eye(hidden, numbers(at::kBFloat16)), {}, table, numbers_of_inputs);
  const auto ids = at::arange(vocabulary, numbers(at::kInt)).flip(0);
  device::step_rows step;
  step.ids = ids;
  step.slots = step.positions = at::zeros_like(ids);
  const auto found = at::empty({vocabulary, hidden}, numbers());
  ops->embed({.table = table, .width = hidden}, step, at::zeros({1}, numbers(at::kInt)), found);
  BOOST_TEST(at::equal(found, numbers_of_inputs.t().flip(0)));
  BOOST_TEST(found.abs().min().item<float>() < found.abs().max().item<float>());
}

BOOST_DATA_TEST_CASE(some_outputs_are_those_of_the_whole_product, boost::unit_test::data::make(packings), packing) {
  const auto ops = tested_backend()->make_operators();
  auto layer = any_product(*ops, packing, 101);
  layer.bias = random({101}, at::kBFloat16);
  const auto x = random({row_count, hidden}, at::kBFloat16);
  const auto expected = at::empty({row_count, 101}, numbers()), some = at::full_like(expected, NAN);
  ops->norm_linear(x, {}, layer, expected);
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 40}, {40, 1}, {41, 60}}) {
    const auto part = at::empty({row_count, count}, numbers());
    ops->norm_linear(x, {}, device::outputs_of(layer, first, count), part);
    some.narrow(1, first, count).copy_(part);
  }
  BOOST_TEST(at::allclose(some, expected, 1e-5, 1e-5));
}

/// Three of 7 experts: a rank has fewer than a row may choose, or more.
BOOST_DATA_TEST_CASE(experts_of_shards_add_up_to_all, boost::unit_test::data::make({at::kFloat, at::kBFloat16}), type) {
  constexpr std::int64_t experts = 7;
  std::vector<parts::mlp<device::tensors>> mlps;
  for (std::int64_t index = 0; index < experts; ++index)
    mlps.push_back({.up = {random({2 * inner, hidden}, type), random({2 * inner}, type)},
                    .activation = {},
                    .intermediate = inner,
                    .down = {random({hidden, inner}, type), random({hidden}, type)}});
  const auto ops = tested_backend()->make_operators();
  const auto normed = at::randn({row_count, hidden}, numbers());
  const auto shares = shares_of(experts);
  const auto expected = at::zeros({row_count, hidden}, numbers()), sum = at::zeros({row_count, hidden}, numbers());
  ops->add_experts(normed, shares, experts_of(mlps, 0, experts), {}, expected);
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 4}, {4, 1}, {5, 2}})
    ops->add_experts(normed, shares, experts_of(mlps, first, count), {}, sum);
  BOOST_TEST(at::allclose(sum, expected, 1e-2, type == at::kFloat ? 1e-5 : 1e-2));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
