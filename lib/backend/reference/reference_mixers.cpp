#include "backend/reference/reference_mixers.hpp"

#include "backend/reference/reference_norms.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace cogen::device {

namespace {

/// Attention through a state of each head: kernels::linear_attention_operands has the formula.
struct linear_attention {
  at::Tensor q;      // [key_heads, key_width]
  at::Tensor k;      // the same
  at::Tensor v;      // [heads, value_width]
  at::Tensor decay;  // [heads]
  at::Tensor rate;   // [heads]
  bool tiled = false;
  bool delta = false;
};

/// Queries or keys of each head as a row: [heads, 1, key_width].
at::Tensor rows_of_heads(const at::Tensor& shared, std::int64_t heads, bool tiled) {
  const auto times = heads / shared.size(0);
  return (tiled ? shared.repeat({times, 1}) : shared.repeat_interleave(times, 0)).unsqueeze(1);
}

/// From and to the state [heads, key_width, value_width]: [heads, value_width].
at::Tensor attended(const linear_attention& by, const at::Tensor& state) {
  const auto heads = by.v.size(0);
  const auto k = rows_of_heads(by.k, heads, by.tiled);
  state.mul_(by.decay.view({heads, 1, 1}));
  auto value = by.v.unsqueeze(1);
  if (by.delta) value = value - at::matmul(k, state);
  state.add_(at::matmul(k.transpose(1, 2), value * by.rate.view({heads, 1, 1})));
  return at::matmul(rows_of_heads(by.q, heads, by.tiled), state).squeeze(1);
}

/// The first numbers of a slot's state.
at::Tensor kept_inputs(const at::Tensor& state, const convolution& of) {
  return state.narrow(0, 0, (of.taps() - 1) * of.channels()).view({-1, of.channels()});
}

/// The numbers behind them.
at::Tensor state_of_heads(const at::Tensor& state, const convolution& behind, at::IntArrayRef shape) {
  return state.slice(0, (behind.taps() - 1) * behind.channels()).view(shape);
}

/// Each row at a length of 1.
at::Tensor at_length_1(const at::Tensor& x) { return x * at::rsqrt(x.square().sum(-1, true) + 1e-6); }

at::Tensor mixed_by(const short_convolution& by, const mixer_rows& rows, const at::Tensor& state) {
  const auto parts = rows.in.to(at::kFloat).chunk(3, 1);  // B | C | x
  return parts[1] * convolved(parts[0] * parts[2], by.convolves, kept_inputs(state, by.convolves));
}

at::Tensor mixed_by(const delta_net& by, const mixer_rows& rows, const at::Tensor& state) {
  const auto& spec = by.spec;
  const auto in = rows.in.to(at::kFloat).split_with_sizes({spec.channels(), spec.values()}, 1);
  const auto qkv = at::silu(convolved(in[0], by.convolves, kept_inputs(state, by.convolves)))
                       .split_with_sizes({spec.keys(), spec.keys(), spec.values()}, 1);
  const auto decisions = rows.decisions.chunk(2, 1);
  const auto out = attended({.q = at_length_1(qkv[0].view({spec.key_heads, -1})) / std::sqrt(spec.key_width),
                             .k = at_length_1(qkv[1].view({spec.key_heads, -1})),
                             .v = qkv[2].view({spec.heads, -1}),
                             .decay = at::exp(at::softplus(decisions[1] + by.step_bias) * by.decay),
                             .rate = at::sigmoid(decisions[0]),
                             .tiled = spec.tiled,
                             .delta = true},
                            state_of_heads(state, by.convolves, {spec.heads, spec.key_width, spec.value_width}));
  return normed(out, norm{.weight = by.norm, .epsilon = spec.norm_epsilon}).view({1, -1}) * at::silu(in[1]);
}

at::Tensor mixed_by(const mamba2_scan& by, const mixer_rows& rows, const at::Tensor& state) {
  using place = models::mamba2_spec::norm_place;
  const auto& spec = by.spec;
  const auto& [of_z, of_x, of_b, of_c, of_steps] = spec.scales;
  const auto in = rows.in.to(at::kFloat).split_with_sizes({spec.values(), spec.values(), spec.keys(), spec.keys()}, 1);
  const auto inputs = at::cat({in[1] * of_x, in[2] * of_b, in[3] * of_c}, 1);
  const auto xbc = at::silu(convolved(inputs, by.convolves, kept_inputs(state, by.convolves)))
                       .split_with_sizes({spec.values(), spec.keys(), spec.keys()}, 1);
  const auto x = xbc[0].view({spec.heads, -1});
  const auto steps = at::softplus(rows.decisions * of_steps + by.step_bias);
  const auto out = attended({.q = xbc[2].view({spec.groups, -1}),
                             .k = xbc[1].view({spec.groups, -1}),
                             .v = x,
                             .decay = at::exp(steps * by.decay),
                             .rate = steps},
                            state_of_heads(state, by.convolves, {spec.heads, spec.states, spec.head_width}));
  const head_norm of_groups{{.weight = by.norm, .epsilon = spec.norm_epsilon}, spec.values() / spec.groups};
  const auto values = (out + x * by.skip.unsqueeze(1)).view({1, -1});
  const auto gate = at::silu(in[0] * of_z);
  return spec.norm == place::behind_gate ? normed(values * gate, of_groups) : normed(values, of_groups) * gate;
}

}  // namespace

at::Tensor convolved(const at::Tensor& x, const convolution& by, const at::Tensor& kept) {
  const auto inputs = at::cat({kept, x});
  auto sum = at::zeros_like(x);
  if (by.biases.defined()) sum.add_(by.biases);
  for (std::int64_t tap = 0; tap < by.taps(); ++tap)
    sum.add_(inputs.narrow(0, tap, x.size(0)) * by.weights.select(0, tap));
  kept.copy_(inputs.narrow(0, x.size(0), by.taps() - 1));
  return sum;
}

at::Tensor mixed(const mixer_rows& rows, const mixer& by, const at::Tensor& state) {
  return std::visit([&](const auto& one) { return mixed_by(one, rows, state); }, by);
}

}  // namespace cogen::device
