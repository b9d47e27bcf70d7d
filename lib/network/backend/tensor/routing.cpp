#include "network/backend/tensor/routing.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

namespace cogen::device {

namespace {

using models::router_spec;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// 1 for the `count` largest of each row, 0 for the others.
at::Tensor largest(const at::Tensor& scores, std::int64_t count) {
  return at::zeros_like(scores).scatter_(1, std::get<1>(scores.topk(count, 1)), 1);
}

/// Scores of experts outside the best groups become -infinity.
at::Tensor in_best_groups(const at::Tensor& scores, const router_spec& spec) {
  const auto groups = scores.unflatten(1, {spec.groups, -1});
  const auto counted =
      spec.groups_by == router_spec::group_scoring::best ? 1 : std::min<std::int64_t>(2, groups.size(2));
  const auto best = largest(std::get<0>(groups.topk(counted, 2)).sum(2), spec.top_groups);
  return groups.masked_fill(best.unsqueeze(2) == 0, -infinity).flatten(1);
}

/// The best of the experts left, one after the other, with its share of a softmax over those near it.
at::Tensor sparsely_mixed(const at::Tensor& logits, const models::moe_spec& spec) {
  auto left = logits.clone();
  auto shares = at::zeros_like(logits);
  for (std::int64_t pick = 0; pick < spec.top_k; ++pick) {
    const auto [best, index] = left.max(1, true);
    const auto is_far = (best - logits) / at::maximum(logits.abs(), best) > 2 * spec.router.jitter;
    const auto near = at::softmax(left.masked_fill(is_far, -infinity), 1);
    shares.scatter_(1, index, near.gather(1, index));
    left.scatter_(1, index, -infinity);
  }
  return shares;
}

at::Tensor chosen_shares(const at::Tensor& logits, const mixture_of_experts& moe) {
  const auto& router = moe.spec.router;
  if (router.scores == router_spec::scoring::sparsemixer) return sparsely_mixed(logits, moe.spec);
  const auto scores = router.scores == router_spec::scoring::sigmoid ? at::sigmoid(logits) : at::softmax(logits, 1);
  auto choice = moe.choice_bias.defined() ? scores + moe.choice_bias.to(at::kFloat) : scores;
  if (router.groups > router.top_groups) choice = in_best_groups(choice, router);
  auto shares = scores * largest(choice, moe.spec.top_k);
  if (router.renormalized) shares = shares / (shares.sum(1, true) + router.added_to_sum);
  if (moe.share_scales.defined()) shares = shares * moe.share_scales.to(at::kFloat);
  return shares * router.scale;
}

}  // namespace

at::Tensor shares_of(const at::Tensor& logits, const mixture_of_experts& moe) {
  const auto shares = chosen_shares(logits.narrow(1, 0, moe.spec.experts), moe);
  if (!moe.spec.shared) return shares;
  const auto gate = logits.narrow(1, moe.spec.experts, logits.size(1) - moe.spec.experts);
  const auto shared = gate.size(1) > 0 ? at::sigmoid(gate) : at::ones({logits.size(0), 1}, logits.options());
  return at::cat({shares, shared}, 1);
}

}  // namespace cogen::device
