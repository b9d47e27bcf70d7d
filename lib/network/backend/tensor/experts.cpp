#include "network/backend/tensor/activations.hpp"
#include "network/backend/tensor/norms.hpp"
#include "network/backend/tensor/routing.hpp"
#include "network/backend/tensor/tensor_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_grouped_mm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace cogen::device {

namespace {

/// Rows that are multiplied, in the order of their experts.
struct grouped_rows {
  at::Tensor experts;  ///< [rows], of each
  at::Tensor ends;     ///< [experts] int32, where each expert's rows end
};

/// x W^T + bias, each row with its expert's. x [rows, inputs], result [rows, outputs] float32
at::Tensor grouped_product(const at::Tensor& x, const projection& by, const grouped_rows& rows) {
  const auto y = at::_grouped_mm(x.to(by.weights.scalar_type()), by.weights.transpose(1, 2), rows.ends).to(at::kFloat);
  return by.bias.defined() ? y + at::index_select(by.bias, 0, rows.experts) : y;
}

/// The rows of at::_grouped_mm() begin at multiples of 16 bytes.
bool is_aligned(const at::Tensor& weights) { return weights.size(2) * weights.element_size() % 16 == 0; }

}  // namespace

void tensor_operators::route(const at::Tensor& x, const norm& before, const mixture_of_experts& by,
                             const at::Tensor& rows, const at::Tensor& shares) {
  rows.copy_(normed(x, before));
  const auto read = by.router_norm.weight.defined() ? normed(x, by.router_norm) : rows;
  shares.copy_(shares_of(product(read, by.router), by));
}

void tensor_operators::add_experts(const at::Tensor& rows, const at::Tensor& shares, const mixture_of_experts& by,
                                   const residual& how, const at::Tensor& x) {
  const auto routed = shares.narrow(1, by.how.first_expert(), by.how.own_experts());
  const auto grouped = [this](const at::Tensor& weights) {
    return weights.defined() && is_aligned(weights) && multiplies_groups(weights);
  };
  const auto read = by.how.latent ? product(rows, by.into_latent) : rows;
  auto sum = grouped(by.up.weights) && grouped(by.down.weights) ? sum_of_chosen(read, routed, by)
                                                                : sum_of_all(read, routed, by);
  if (by.how.latent) sum = product(sum, by.out_of_latent);
  if (by.how.shared) sum.add_(feed_forward(rows, by.experts.back()) * shares.narrow(1, by.how.experts, 1));
  add_rows(sum, how, x);
}

at::Tensor tensor_operators::feed_forward(const at::Tensor& x, const parts::mlp<tensors>& by) {
  return product(activated(product(x, by.up), by.activation), by.down);
}

/// Each row goes through its experts alone. The rows are put in the order of their experts, and back. Where a rank has
/// some of the experts, what was chosen of the others comes last, and is not multiplied.
at::Tensor tensor_operators::sum_of_chosen(const at::Tensor& rows, const at::Tensor& shares,
                                           const mixture_of_experts& by) {
  const auto own = by.how.own_experts(), most = std::min<std::int64_t>(by.how.top_k, own);
  const auto chosen = std::get<1>(shares.abs().topk(most, 1));  // [rows, most]
  const auto chosen_shares = shares.gather(1, chosen);
  const auto computed = by.how.owned ? chosen.masked_fill(chosen_shares == 0, own) : chosen;
  const auto order = computed.flatten().argsort(/*stable=*/true);
  const auto experts = at::index_select(computed.flatten(), 0, order);
  const auto numbers = at::arange(own, experts.options());
  const grouped_rows groups{by.how.owned ? experts.clamp_max(own - 1) : experts,
                            (experts.unsqueeze(1) <= numbers).sum(0).to(at::kInt)};
  const auto factors = at::index_select(chosen_shares.flatten(), 0, order).unsqueeze(1);
  auto x = at::index_select(rows, 0, at::floor_divide(order, most));
  if (by.how.router.scales_input) x = x * factors;
  const auto inner = activated(grouped_product(x, by.up, groups), by.experts.front().activation);
  auto results = grouped_product(inner, by.down, groups);
  if (!by.how.router.scales_input) results = results * factors;
  if (by.how.owned) results = results.masked_fill((experts == own).unsqueeze(1), 0);
  return at::empty_like(results).index_copy_(0, order, results).unflatten(0, {-1, most}).sum(1);
}

/// All rows go through all experts that there are.
at::Tensor tensor_operators::sum_of_all(const at::Tensor& rows, const at::Tensor& shares,
                                        const mixture_of_experts& by) {
  auto sum = at::zeros_like(rows);
  for (std::int64_t index = 0; index < by.how.own_experts(); ++index) {
    const auto share = shares.narrow(1, index, 1);
    const auto& expert = by.experts[static_cast<std::size_t>(index)];
    const auto result =
        by.how.router.scales_input ? feed_forward(rows * share, expert) : feed_forward(rows, expert) * share;
    sum.add_(result.masked_fill(share == 0, 0));
  }
  return sum;
}

}  // namespace cogen::device
