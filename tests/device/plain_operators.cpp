#include "plain_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <limits>
#include <vector>

namespace cogen::test {

namespace {

std::vector<std::int64_t> numbers(const at::Tensor& of) {
  const auto values = of.to(at::kCPU, at::kLong).contiguous();
  return {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()};
}

/// Halves of the first 2 * pairs dimensions turn with one another. x [tokens, heads, head_dim]
at::Tensor rotated(const at::Tensor& x, const at::Tensor& angles) {
  const auto pairs = angles.size(1) / 2;
  const auto cosines = angles.narrow(1, 0, pairs).unsqueeze(1);
  const auto sines = angles.narrow(1, pairs, pairs).unsqueeze(1);
  const auto low = x.narrow(2, 0, pairs);
  const auto high = x.narrow(2, pairs, pairs);
  const auto rest = x.narrow(2, 2 * pairs, x.size(2) - 2 * pairs);
  return at::cat({low * cosines - high * sines, high * cosines + low * sines, rest}, 2);
}

/// Keys or values of the first `length` tokens of a slot, once for each head of queries: [heads, length, head_dim].
at::Tensor spread(const at::Tensor& of, std::int64_t slot, std::int64_t length, std::int64_t heads) {
  const auto held = of.select(0, slot).narrow(0, 0, length).to(at::kFloat);
  return held.repeat_interleave(heads / of.size(2), 1).transpose(0, 1);
}

}  // namespace

void plain_operators::embed(const at::Tensor& table, const device::step_rows& rows, const at::Tensor& last,
                            const at::Tensor& x) {
  const auto drawn = at::index_select(last, 0, rows.slots.clamp_min(0));
  const auto ids = at::where(rows.ids < 0, drawn, rows.ids);
  x.copy_(at::index_select(table, 0, ids));
}

void plain_operators::add_norm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon,
                               const at::Tensor& out) {
  if (delta.defined()) x.add_(delta.to(at::kFloat));
  const auto mean = x.square().mean(-1, true);
  out.copy_(x * at::rsqrt(mean + epsilon) * weight.to(at::kFloat));
}

void plain_operators::linear(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& bias,
                             const at::Tensor& y) {
  auto result = at::matmul(x.to(at::kFloat), weights.to(at::kFloat).t());
  if (bias.defined()) result.add_(bias.to(at::kFloat));
  y.copy_(result);
}

void plain_operators::scores(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& y) {
  linear(x, weights, {}, y);
}

void plain_operators::rotate_and_append(const at::Tensor& qkv, const device::attention_shape& shape,
                                        const at::Tensor& rope, const device::step_rows& rows,
                                        const cache::device_layer& layer) {
  const auto heads = qkv.unflatten(1, {shape.heads + 2 * shape.kv_heads, shape.head_dim});
  const auto turning = heads.narrow(1, 0, shape.heads + shape.kv_heads);
  turning.copy_(rotated(turning.to(at::kFloat), at::index_select(rope, 0, rows.positions)));
  const auto slots = numbers(rows.slots);
  const auto positions = numbers(rows.positions);
  for (std::size_t token = 0; token < slots.size(); ++token) {
    if (slots[token] < 0) continue;
    const auto of = heads.select(0, static_cast<std::int64_t>(token));
    layer.keys.select(0, slots[token]).select(0, positions[token]).copy_(of.narrow(0, shape.heads, shape.kv_heads));
    layer.values.select(0, slots[token])
        .select(0, positions[token])
        .copy_(of.narrow(0, shape.heads + shape.kv_heads, shape.kv_heads));
  }
}

void plain_operators::attend(const at::Tensor& qkv, const device::attention_shape& shape, const device::step_rows& rows,
                             const cache::device_layer& layer, const at::Tensor& out) {
  const auto slots = numbers(rows.slots);
  const auto positions = numbers(rows.positions);
  for (std::size_t token = 0; token < slots.size(); ++token) {
    const auto into = out.select(0, static_cast<std::int64_t>(token));
    if (slots[token] < 0) {
      into.zero_();
      continue;
    }
    const auto length = positions[token] + 1;
    const auto query = qkv.select(0, static_cast<std::int64_t>(token))
                           .narrow(0, 0, shape.heads * shape.head_dim)
                           .view({shape.heads, 1, shape.head_dim})
                           .to(at::kFloat);
    auto weights =
        at::matmul(query, spread(layer.keys, slots[token], length, shape.heads).transpose(1, 2)) * shape.scale;
    if (layer.window > 0 && length > layer.window)
      weights.narrow(2, 0, length - layer.window).fill_(-std::numeric_limits<float>::infinity());
    into.copy_(at::matmul(at::softmax(weights, -1), spread(layer.values, slots[token], length, shape.heads)).flatten());
  }
}

void plain_operators::gate(const at::Tensor& gate_up, const at::Tensor& out) {
  const auto width = out.size(1);
  out.copy_(at::silu(gate_up.narrow(1, 0, width).to(at::kFloat)) * gate_up.narrow(1, width, width).to(at::kFloat));
}

}  // namespace cogen::test
