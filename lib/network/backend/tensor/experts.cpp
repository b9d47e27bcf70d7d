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
at::Tensor grouped_product(const at::Tensor& x, const projection& linear, const grouped_rows& rows) {
  const auto y =
      at::_grouped_mm(x.to(linear.weights.scalar_type()), linear.weights.transpose(1, 2), rows.ends).to(at::kFloat);
  return linear.bias.defined() ? y + at::index_select(linear.bias, 0, rows.experts) : y;
}

/// The rows of at::_grouped_mm() begin at multiples of 16 bytes.
bool has_aligned_rows(const at::Tensor& weights) { return weights.size(2) * weights.element_size() % 16 == 0; }

}  // namespace

void tensor_operators::route(const at::Tensor& x, const norm& pre_norm, const mixture_of_experts& moe,
                             const at::Tensor& rows, const at::Tensor& shares) {
  rows.copy_(normed(x, pre_norm));
  const auto read = moe.router_norm.weight.defined() ? normed(x, moe.router_norm) : rows;
  shares.copy_(shares_of(product(read, moe.router), moe));
}

void tensor_operators::add_experts(const at::Tensor& rows, const at::Tensor& shares, const mixture_of_experts& moe,
                                   const residual& update, const at::Tensor& x) {
  const auto routed = shares.narrow(1, moe.spec.first_expert(), moe.spec.own_experts());
  const auto grouped = [this](const at::Tensor& weights) {
    return weights.defined() && has_aligned_rows(weights) && multiplies_groups(weights);
  };
  const auto read = moe.spec.latent ? product(rows, moe.into_latent) : rows;
  auto sum = grouped(moe.up.weights) && grouped(moe.down.weights) ? sum_of_chosen(read, routed, moe)
                                                                  : sum_of_all(read, routed, moe);
  if (moe.spec.latent) sum = product(sum, moe.out_of_latent);
  if (moe.spec.shared) sum.add_(feed_forward(rows, moe.experts.back()) * shares.narrow(1, moe.spec.experts, 1));
  add_rows(sum, update, x);
}

at::Tensor tensor_operators::feed_forward(const at::Tensor& x, const parts::mlp<tensors>& part) {
  return product(activated(product(x, part.up), part.activation), part.down);
}

/// Each row goes through its experts alone. The rows are put in the order of their experts, and back. Where a rank has
/// some of the experts, what was chosen of the others comes last, and is not multiplied.
at::Tensor tensor_operators::sum_of_chosen(const at::Tensor& rows, const at::Tensor& shares,
                                           const mixture_of_experts& moe) {
  const auto own = moe.spec.own_experts(), most = std::min<std::int64_t>(moe.spec.top_k, own);
  const auto chosen = std::get<1>(shares.abs().topk(most, 1));  // [rows, most]
  const auto chosen_shares = shares.gather(1, chosen);
  const auto computed = moe.spec.owned ? chosen.masked_fill(chosen_shares == 0, own) : chosen;
  const auto order = computed.flatten().argsort(/*stable=*/true);
  const auto experts = at::index_select(computed.flatten(), 0, order);
  const auto numbers = at::arange(own, experts.options());
  const grouped_rows groups{moe.spec.owned ? experts.clamp_max(own - 1) : experts,
                            (experts.unsqueeze(1) <= numbers).sum(0).to(at::kInt)};
  const auto factors = at::index_select(chosen_shares.flatten(), 0, order).unsqueeze(1);
  auto x = at::index_select(rows, 0, at::floor_divide(order, most));
  if (moe.spec.router.scales_input) x = x * factors;
  const auto inner = activated(grouped_product(x, moe.up, groups), moe.experts.front().activation);
  auto results = grouped_product(inner, moe.down, groups);
  if (!moe.spec.router.scales_input) results = results * factors;
  if (moe.spec.owned) results = results.masked_fill((experts == own).unsqueeze(1), 0);
  return at::empty_like(results).index_copy_(0, order, results).unflatten(0, {-1, most}).sum(1);
}

/// All rows go through all experts that there are.
at::Tensor tensor_operators::sum_of_all(const at::Tensor& rows, const at::Tensor& shares,
                                        const mixture_of_experts& moe) {
  auto sum = at::zeros_like(rows);
  for (std::int64_t index = 0; index < moe.spec.own_experts(); ++index) {
    const auto share = shares.narrow(1, index, 1);
    const auto& expert = moe.experts[static_cast<std::size_t>(index)];
    const auto result =
        moe.spec.router.scales_input ? feed_forward(rows * share, expert) : feed_forward(rows, expert) * share;
    sum.add_(result.masked_fill(share == 0, 0));
  }
  return sum;
}

}  // namespace cogen::device
