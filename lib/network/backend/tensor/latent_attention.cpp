#include "network/backend/tensor/norms.hpp"
#include "network/backend/tensor/tensor_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>

namespace cogen::device {

namespace {

/// Each head's rows by its own matrix. x [rows, heads, inputs], result [rows, heads, outputs] float32
at::Tensor product_of_heads(const at::Tensor& x, const projection& by) {
  const auto heads = at::bmm(x.to(by.weights.scalar_type()).transpose(0, 1), by.weights.transpose(1, 2));
  return heads.transpose(0, 1).to(at::kFloat);
}

}  // namespace

void tensor_operators::absorb(const at::Tensor& in, const latent_attention& by, const at::Tensor& rows) {
  const auto& how = by.how;
  const auto numbers = in.to(at::kFloat);
  auto q = numbers.narrow(1, 0, by.q_in());
  if (how.q_rank > 0) q = product(normed(q, by.q_norm), by.q);
  const auto parts = q.unflatten(1, {how.heads, how.query_dim()}).split_with_sizes({how.nope_dim, how.rope_dim}, 2);
  const auto all = rows.unflatten(1, {how.heads + 1, how.row_dim()});
  all.narrow(1, 0, how.heads).copy_(at::cat({product_of_heads(parts[0], by.into_latents), parts[1]}, 2));
  const auto row = numbers.narrow(1, by.q_in(), how.row_dim()).split_with_sizes({how.kv_rank, how.rope_dim}, 1);
  all.select(1, how.heads).copy_(at::cat({normed(row[0], by.kv_norm), row[1]}, 1));
}

void tensor_operators::expand(const at::Tensor& sums, const latent_attention& by, const at::Tensor& out) {
  const auto& how = by.how;
  const auto latents = sums.unflatten(1, {how.heads, how.row_dim()}).narrow(2, 0, how.kv_rank);
  out.unflatten(1, {how.heads, how.value_dim}).copy_(product_of_heads(latents, by.out_of_latents));
}

}  // namespace cogen::device
