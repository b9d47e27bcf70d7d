#include "network/backend/tensor/norms.hpp"
#include "network/backend/tensor/tensor_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>

namespace cogen::device {

namespace {

/// Each head's rows by its own matrix. x [rows, heads, inputs], result [rows, heads, outputs] float32
at::Tensor product_of_heads(const at::Tensor& x, const projection& linear) {
  const auto heads = at::bmm(x.to(linear.weights.scalar_type()).transpose(0, 1), linear.weights.transpose(1, 2));
  return heads.transpose(0, 1).to(at::kFloat);
}

}  // namespace

void tensor_operators::absorb(const at::Tensor& in, const latent_attention& part, const at::Tensor& rows) {
  const auto& spec = part.spec;
  const auto numbers = in.to(at::kFloat);
  auto q = numbers.narrow(1, 0, part.q_in());
  if (spec.q_rank > 0) q = product(normed(q, part.q_norm), part.q);
  const auto parts = q.unflatten(1, {spec.heads, spec.query_dim()}).split_with_sizes({spec.nope_dim, spec.rope_dim}, 2);
  const auto head_rows = rows.unflatten(1, {spec.heads + 1, spec.row_dim()});
  head_rows.narrow(1, 0, spec.heads).copy_(at::cat({product_of_heads(parts[0], part.into_latents), parts[1]}, 2));
  const auto row = numbers.narrow(1, part.q_in(), spec.row_dim()).split_with_sizes({spec.kv_rank, spec.rope_dim}, 1);
  head_rows.select(1, spec.heads).copy_(at::cat({normed(row[0], part.kv_norm), row[1]}, 1));
}

void tensor_operators::expand(const at::Tensor& sums, const latent_attention& part, const at::Tensor& out) {
  const auto& spec = part.spec;
  const auto latents = sums.unflatten(1, {spec.heads, spec.row_dim()}).narrow(2, 0, spec.kv_rank);
  out.unflatten(1, {spec.heads, spec.value_dim}).copy_(product_of_heads(latents, part.out_of_latents));
}

}  // namespace cogen::device
