#include "network/backend/tensor/mixers.hpp"

#include "network/backend/tensor/norms.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <vector>

namespace cogen::device {

namespace {

/// Attention through a state of each head: kernels::linear_attention_operands has the formula.
struct linear_attention {
  at::Tensor q;      // [sequences, tokens, key_heads, key_width]
  at::Tensor k;      // the same
  at::Tensor v;      // [sequences, tokens, heads, value_width]
  at::Tensor decay;  // [sequences, tokens, heads]
  at::Tensor rate;   // [sequences, tokens, heads]
  bool tiled = false;
  bool delta = false;
};

/// Queries or keys of each head as a row: [sequences, tokens, heads, 1, key_width].
at::Tensor rows_of_heads(const at::Tensor& shared, std::int64_t heads, bool tiled) {
  const int repeated = tiled ? 2 : 3;
  std::vector<std::int64_t> sizes(5, -1);
  sizes[static_cast<std::size_t>(repeated)] = heads / shared.size(2);
  return shared.unsqueeze(repeated).expand(sizes).flatten(2, 3).unsqueeze(3);
}

/// From and to the state [sequences, heads, key_width, value_width]: [sequences, tokens, heads, value_width].
at::Tensor attended(const linear_attention& input, const at::Tensor& kept) {
  const auto heads = input.v.size(2);
  const auto k = rows_of_heads(input.k, heads, input.tiled), q = rows_of_heads(input.q, heads, input.tiled);
  const auto v = input.v.unsqueeze(3);
  const auto decay = input.decay.unsqueeze(3).unsqueeze(3), rate = input.rate.unsqueeze(3).unsqueeze(3);
  const auto state = kept.clone(at::MemoryFormat::Contiguous);
  std::vector<at::Tensor> found;
  for (std::int64_t token = 0; token < v.size(1); ++token) {
    const auto now = [token](const at::Tensor& tensor) { return tensor.select(1, token); };
    state.mul_(now(decay));
    const auto value = input.delta ? now(v) - at::matmul(now(k), state) : now(v);
    state.add_(at::matmul(now(k).transpose(2, 3), value * now(rate)));
    found.push_back(at::matmul(now(q), state).squeeze(2));
  }
  kept.copy_(state);
  return at::stack(found, 1);
}

/// The numbers behind a convolution's.
at::Tensor state_of_heads(const at::Tensor& state, const convolution& behind, at::IntArrayRef shape) {
  return state.slice(1, (behind.taps() - 1) * behind.channels()).unflatten(1, shape);
}

/// Each row at a length of 1.
at::Tensor at_length_1(const at::Tensor& x) { return x * at::rsqrt(x.square().sum(-1, true) + 1e-6); }

at::Tensor mixed_by(const short_convolution& part, const mixer_rows& rows, const at::Tensor& state) {
  const auto parts = rows.in.to(at::kFloat).chunk(3, 2);  // B | C | x
  return parts[1] * convolved(parts[0] * parts[2], part.convolves, kept_inputs(state, part.convolves));
}

at::Tensor mixed_by(const delta_net& part, const mixer_rows& rows, const at::Tensor& state) {
  const auto& spec = part.spec;
  const auto in = rows.in.to(at::kFloat).split_with_sizes({spec.channels(), spec.values()}, 2);
  const auto qkv = at::silu(convolved(in[0], part.convolves, kept_inputs(state, part.convolves)))
                       .split_with_sizes({spec.keys(), spec.keys(), spec.values()}, 2);
  const auto decisions = rows.decisions.chunk(2, 2);
  const auto out = attended({.q = at_length_1(qkv[0].unflatten(2, {spec.key_heads, -1})) / std::sqrt(spec.key_width),
                             .k = at_length_1(qkv[1].unflatten(2, {spec.key_heads, -1})),
                             .v = qkv[2].unflatten(2, {spec.heads, -1}),
                             .decay = at::exp(at::softplus(decisions[1] + part.step_bias) * part.decay),
                             .rate = at::sigmoid(decisions[0]),
                             .tiled = spec.tiled,
                             .delta = true},
                            state_of_heads(state, part.convolves, {spec.heads, spec.key_width, spec.value_width}));
  return normed(out, norm{.weight = part.norm, .epsilon = spec.norm_epsilon}).flatten(2) * at::silu(in[1]);
}

at::Tensor mixed_by(const mamba2_scan& part, const mixer_rows& rows, const at::Tensor& state) {
  using place = models::mamba2_spec::norm_place;
  const auto& spec = part.spec;
  const auto& [of_z, of_x, of_b, of_c, of_steps] = spec.scales;
  const auto in = rows.in.to(at::kFloat).split_with_sizes({spec.values(), spec.values(), spec.keys(), spec.keys()}, 2);
  const auto inputs = at::cat({in[1] * of_x, in[2] * of_b, in[3] * of_c}, 2);
  const auto xbc = at::silu(convolved(inputs, part.convolves, kept_inputs(state, part.convolves)))
                       .split_with_sizes({spec.values(), spec.keys(), spec.keys()}, 2);
  const auto x = xbc[0].unflatten(2, {spec.heads, -1});
  const auto steps = at::softplus(rows.decisions * of_steps + part.step_bias);
  const auto out = attended({.q = xbc[2].unflatten(2, {spec.groups, -1}),
                             .k = xbc[1].unflatten(2, {spec.groups, -1}),
                             .v = x,
                             .decay = at::exp(steps * part.decay),
                             .rate = steps},
                            state_of_heads(state, part.convolves, {spec.heads, spec.states, spec.head_width}));
  const head_norm of_groups{{.weight = part.norm, .epsilon = spec.norm_epsilon}, spec.values() / spec.groups};
  const auto values = (out + x * part.skip.unsqueeze(1)).flatten(2);
  const auto gate = at::silu(in[0] * of_z);
  return spec.norm == place::behind_gate ? normed(values * gate, of_groups) : normed(values, of_groups) * gate;
}

}  // namespace

at::Tensor convolved(const at::Tensor& x, const convolution& conv, const at::Tensor& kept) {
  const auto tokens = x.size(1);
  const auto inputs = at::cat({kept, x}, 1);
  auto sum = at::zeros_like(x);
  if (conv.biases.defined()) sum.add_(conv.biases);
  for (std::int64_t tap = 0; tap < conv.taps(); ++tap)
    sum.add_(inputs.narrow(1, tap, tokens) * conv.weights.select(0, tap));
  kept.copy_(inputs.narrow(1, tokens, conv.taps() - 1));
  return sum;
}

at::Tensor kept_inputs(const at::Tensor& state, const convolution& conv) {
  return state.narrow(1, 0, (conv.taps() - 1) * conv.channels()).unflatten(1, {conv.taps() - 1, conv.channels()});
}

at::Tensor averaged(const std::vector<at::Tensor>& kvg, const time_mix& part, const at::Tensor& state) {
  const auto values = state.select(1, 0), weights = state.select(1, 1), exponent = state.select(1, 2);
  exponent.masked_fill_(weights == 0, -1e38);
  std::vector<at::Tensor> found;
  for (std::int64_t token = 0; token < kvg[0].size(1); ++token) {
    const auto k = kvg[0].select(1, token), v = kvg[1].select(1, token);
    const auto largest = at::maximum(exponent, k + part.first);
    const auto kept = at::exp(exponent - largest), weight = at::exp(k + part.first - largest);
    found.push_back((kept * values + weight * v) / (kept * weights + weight));
    const auto decayed = exponent + part.decay;
    exponent.copy_(at::maximum(decayed, k));
    const auto left = at::exp(decayed - exponent), added = at::exp(k - exponent);
    values.mul_(left).add_(added * v);
    weights.mul_(left).add_(added);
  }
  return at::stack(found, 1) * at::sigmoid(kvg[2]);
}

at::Tensor mixed(const mixer_rows& rows, const mixer& part, const at::Tensor& states) {
  return std::visit([&](const auto& kind) { return mixed_by(kind, rows, states); }, part);
}

}  // namespace cogen::device
