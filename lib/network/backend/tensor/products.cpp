#include "network/backend/fp8_product.hpp"
#include "network/backend/tensor/activations.hpp"
#include "network/backend/tensor/norms.hpp"
#include "network/backend/tensor/tensor_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <stdexcept>

namespace cogen::device {

namespace {

at::Tensor ids_of(const step_rows& rows, const at::Tensor& last) {
  return at::where(rows.ids < 0, at::index_select(last, 0, rows.slots.clamp_min(0)), rows.ids);
}

void add(const at::Tensor& result, const residual& update, const at::Tensor& x) {
  x.add_(normed(result, update.after) * update.scale);
  if (update.post.weight.defined()) x.copy_(normed(x, update.post));
  if (update.total != 1) x.mul_(update.total);
}

/// Numbers of float16 times weights could be too large.
bool can_begin(const norm& params) {
  return params.weight.defined() && !params.is_layer_norm && !params.bias.defined() &&
         params.weight.scalar_type() != at::kHalf;
}

}  // namespace

at::Tensor tensor_operators::product(const at::Tensor& x, const projection& linear) {
  const auto y = at::empty({x.size(0), linear.weights.size(0)}, x.options().dtype(at::kFloat));
  norm_linear(x, {}, linear, y);
  return y;
}

at::Tensor tensor_operators::weights_of(const projection& linear, std::int64_t) const {
  if (linear.scales.defined()) throw std::logic_error("these operators do not multiply by quantized weights");
  return linear.weights;
}

at::Tensor tensor_operators::found_in(const projection& table, const at::Tensor& ids, std::int64_t width) const {
  return weights_of(rows_of(table, ids), width).to(at::kFloat);
}

void tensor_operators::embed(const embedding& embeddings, const step_rows& rows, const at::Tensor& last,
                             const at::Tensor& x) {
  finish_embedding(embeddings, rows,
                   found_in(embeddings.table, ids_of(rows, last), embeddings.width) * embeddings.scale, x);
}

void tensor_operators::find_vectors(const embedding& embeddings, const step_rows& rows, const at::Tensor& last,
                                    const at::Tensor& found) {
  const auto& own = embeddings.vocabulary;
  const auto ids = ids_of(rows, last) - own.first;
  const auto vectors = found_in(embeddings.table, ids.clamp(0, own.count - 1), embeddings.width) * embeddings.scale;
  found.copy_(vectors.masked_fill(((ids < 0) | (ids >= own.count)).unsqueeze(1), 0));
}

void tensor_operators::finish_embedding(const embedding& embeddings, const step_rows& rows, const at::Tensor& found,
                                        const at::Tensor& x) {
  auto result = embeddings.to_hidden.weights.defined() ? product(found, embeddings.to_hidden) : found;
  if (embeddings.positions.defined()) {
    const auto table = embeddings.positions.view({-1, x.size(1)});
    result = result + at::index_select(table, 0, rows.positions.clamp_max(table.size(0) - 1));
  }
  x.copy_(normed(result, embeddings.after));
}

void tensor_operators::norm_linear(const norm_input& x, const norm& pre_norm, const projection& linear,
                                   const at::Tensor& y) {
  const auto weights = weights_of(linear, x.x.size(1));
  const bool begun = x.weighted.defined() && linear.adapters.empty();
  const auto rows = begun ? x.weighted : normed(x.x, pre_norm).to(weights.scalar_type());
  auto result = at::matmul(rounds_rows(rows, linear) ? rounded_rows(rows) : rows, weights.t());
  if (begun) result = result.to(at::kFloat) * at::rsqrt(x.squares.sum(1, true) / x.x.size(1) + pre_norm.epsilon);
  y.copy_(linear.bias.defined() ? result.to(at::kFloat).add_(linear.bias) : result);
  adapt(rows, linear, y);
}

void tensor_operators::adapt(const at::Tensor& x, const projection& linear, const at::Tensor& y) {
  for (const auto& [down, up, first] : linear.adapters)
    y.narrow(1, first, up.size(0)).add_(at::matmul(at::matmul(x.to(down.scalar_type()), down.t()), up.t()));
}

void tensor_operators::norm_activated(const norm_input& x, const norm& pre_norm, const projection& linear,
                                      const parts::activation& function, const at::Tensor& y) {
  const auto result = at::empty({x.x.size(0), linear.weights.size(0)}, x.x.options().dtype(at::kFloat));
  norm_linear(x, pre_norm, linear, result);
  y.copy_(activated(result, function));
}

bool tensor_operators::linear_add(const at::Tensor& y, const projection& linear, const residual& update,
                                  const norm_input& output) {
  add(product(y, linear), update, output.x);
  if (!update.next || !output.weighted.defined() || !can_begin(*update.next)) return false;
  output.weighted.copy_(output.x * (update.next->weight.to(at::kFloat) + update.next->weight_offset));
  const auto whole = output.squares.size(1) * squared_numbers;
  const auto squares = at::constant_pad_nd(output.x.square(), {0, whole - output.x.size(1)});
  output.squares.copy_(squares.unflatten(1, {-1, squared_numbers}).sum(2));
  return true;
}

void tensor_operators::add_rows(const at::Tensor& rows, const residual& update, const at::Tensor& x) {
  add(rows, update, x);
}

void tensor_operators::score(const at::Tensor& x, const norm& pre_norm, const head& lm_head, const at::Tensor& logits) {
  if (lm_head.to_width.weights.defined()) {
    const auto narrow = at::empty({x.size(0), lm_head.width}, x.options());
    norm_linear(x, pre_norm, lm_head.to_width, narrow);
    norm_linear(narrow, {}, lm_head.product, logits);
  } else {
    norm_linear(x, pre_norm, lm_head.product, logits);
  }
  if (lm_head.scale != 1) logits.mul_(lm_head.scale);
  if (lm_head.softcap > 0) logits.div_(lm_head.softcap).tanh_().mul_(lm_head.softcap);
}

void tensor_operators::read_layer_inputs(const layer_inputs& vectors, const step_rows& rows, const at::Tensor& last,
                                         const at::Tensor& x, const at::Tensor& out) {
  const auto ids = ids_of(rows, last);
  const auto known = at::where(ids < vectors.vocabulary, ids, at::zeros_like(ids));
  const auto layers = product(x, vectors.projection).unflatten(1, {-1, vectors.norm.weight.size(0)});
  out.copy_(found_in(vectors.table, known, vectors.width) * vectors.scale + normed(layers, vectors.norm).flatten(1));
}

void tensor_operators::gate_layer_input(const at::Tensor& x, const norm& pre_norm, const layer_input& part,
                                        const at::Tensor& inputs, const at::Tensor& y) {
  norm_activated(x, pre_norm, part.gate, part.activation, y);
  y.copy_(y.to(at::kFloat) * inputs.narrow(1, part.first, part.width));
}

void tensor_operators::low_rank(const at::Tensor& x, const norm& pre_norm, const device::low_rank& part,
                                const at::Tensor& y) {
  const auto own = normed(x, pre_norm);
  y.copy_(own + normed(product(product(own, part.left), part.right), part.norm));
}

}  // namespace cogen::device
