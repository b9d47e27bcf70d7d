#include "network/backend/tensor/heads.hpp"

#include "network/backend/tensor/norms.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log1p.h>

namespace cogen::device {

namespace {

/// Halves of 2 * pairs dimensions from `first` on turn with one another. x [tokens, heads, head_dim]
at::Tensor turned(const at::Tensor& x, const at::Tensor& angles, std::int64_t first) {
  const auto pairs = angles.size(1) / 2;
  const auto cosines = angles.narrow(1, 0, pairs).unsqueeze(1);
  const auto sines = angles.narrow(1, pairs, pairs).unsqueeze(1);
  const auto low = x.narrow(2, first, pairs);
  const auto high = x.narrow(2, first + pairs, pairs);
  const auto prefix = x.narrow(2, 0, first);
  const auto behind = x.slice(2, first + 2 * pairs);
  return at::cat({prefix, low * cosines - high * sines, high * cosines + low * sines, behind}, 2);
}

/// The angles of each position: [tokens, 2 * pairs].
at::Tensor angles_of(const rotation& turn, const at::Tensor& positions) {
  const auto near = at::index_select(turn.near, 0, positions % turn.near.size(0)).chunk(2, 1);
  const auto far = at::index_select(turn.far, 0, at::floor_divide(positions, turn.near.size(0))).chunk(2, 1);
  return at::cat({near[0] * far[0] - near[1] * far[1], near[1] * far[0] + near[0] * far[1]}, 1);
}

void norm_heads(const at::Tensor& qkv, const attention_shape& shape) {
  const auto norm_in_place = [&](const head_norm& norms, std::int64_t first, std::int64_t width) {
    if (!norms.params.weight.defined()) return;
    const auto some = qkv.narrow(1, first, width);
    some.copy_(normed(some.to(at::kFloat), norms));
  };
  const auto q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
  norm_in_place(shape.q_norm, 0, q_width);
  if (shape.shares_kv) return;
  norm_in_place(shape.k_norm, q_width, kv_width);
  norm_in_place(shape.v_norm, q_width + kv_width, kv_width);
}

void grow(const at::Tensor& qkv, const attention_shape& shape, const at::Tensor& positions) {
  const auto turns = at::floor_divide(positions + shape.growth_offset, shape.growth_length).to(at::kDouble);
  const auto factors = (at::log1p(turns) * shape.growth + 1).to(at::kFloat).unsqueeze(1);
  const auto q = qkv.narrow(1, 0, shape.heads * shape.head_dim);
  q.copy_(q.to(at::kFloat) * factors);
}

}  // namespace

at::Tensor rotated(const at::Tensor& x, const rotation& turn, const at::Tensor& positions, std::int64_t first) {
  return turn.near.defined() ? turned(x, angles_of(turn, positions), first) : x;
}

void prepare(const at::Tensor& qkv, const attention_shape& shape, const at::Tensor& positions) {
  if (!shape.norms_after_rotation) norm_heads(qkv, shape);
  if (shape.clip > 0) qkv.clamp_(-shape.clip, shape.clip);
  if (shape.growth > 0) grow(qkv, shape, positions);
}

void rotate(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn, const at::Tensor& positions) {
  const auto turning = qkv.unflatten(1, {shape.qkv_heads(), shape.head_dim})
                           .narrow(1, 0, shape.heads + (shape.shares_kv ? 0 : shape.kv_heads));
  if (turn.near.defined()) turning.copy_(rotated(turning.to(at::kFloat), turn, positions, shape.first_rotated));
  if (shape.norms_after_rotation) norm_heads(qkv, shape);
}

}  // namespace cogen::device
