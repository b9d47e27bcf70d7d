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

void add(const at::Tensor& result, const residual& how, const at::Tensor& x) {
  x.add_(normed(result, how.after) * how.scale);
  if (how.post.weight.defined()) x.copy_(normed(x, how.post));
  if (how.total != 1) x.mul_(how.total);
}

/// Numbers of float16 times weights could be too large.
bool can_begin(const norm& by) {
  return by.weight.defined() && !by.is_layer_norm && !by.bias.defined() && by.weight.scalar_type() != at::kHalf;
}

}  // namespace

at::Tensor tensor_operators::product(const at::Tensor& x, const projection& by) {
  const auto y = at::empty({x.size(0), by.weights.size(0)}, x.options().dtype(at::kFloat));
  norm_linear(x, {}, by, y);
  return y;
}

at::Tensor tensor_operators::weights_of(const projection& by, std::int64_t) const {
  if (by.scales.defined()) throw std::logic_error("these operators do not multiply by quantized weights");
  return by.weights;
}

at::Tensor tensor_operators::found_in(const projection& table, const at::Tensor& ids, std::int64_t width) const {
  return weights_of(rows_of(table, ids), width).to(at::kFloat);
}

void tensor_operators::embed(const embedding& from, const step_rows& rows, const at::Tensor& last,
                             const at::Tensor& x) {
  finish_embedding(from, rows, found_in(from.table, ids_of(rows, last), from.width) * from.scale, x);
}

void tensor_operators::find_vectors(const embedding& from, const step_rows& rows, const at::Tensor& last,
                                    const at::Tensor& found) {
  const auto& own = from.vocabulary;
  const auto ids = ids_of(rows, last) - own.first;
  const auto vectors = found_in(from.table, ids.clamp(0, own.count - 1), from.width) * from.scale;
  found.copy_(vectors.masked_fill(((ids < 0) | (ids >= own.count)).unsqueeze(1), 0));
}

void tensor_operators::finish_embedding(const embedding& from, const step_rows& rows, const at::Tensor& found,
                                        const at::Tensor& x) {
  auto made = from.to_hidden.weights.defined() ? product(found, from.to_hidden) : found;
  if (from.positions.defined()) {
    const auto table = from.positions.view({-1, x.size(1)});
    made = made + at::index_select(table, 0, rows.positions.clamp_max(table.size(0) - 1));
  }
  x.copy_(normed(made, from.after));
}

void tensor_operators::norm_linear(const norm_input& x, const norm& before, const projection& by, const at::Tensor& y) {
  const auto weights = weights_of(by, x.x.size(1));
  const bool begun = x.weighted.defined() && by.adapters.empty();
  const auto rows = begun ? x.weighted : normed(x.x, before).to(weights.scalar_type());
  auto made = at::matmul(rounds_rows(rows, by) ? rounded_rows(rows) : rows, weights.t());
  if (begun) made = made.to(at::kFloat) * at::rsqrt(x.squares.sum(1, true) / x.x.size(1) + before.epsilon);
  y.copy_(by.bias.defined() ? made.to(at::kFloat).add_(by.bias) : made);
  adapt(rows, by, y);
}

void tensor_operators::adapt(const at::Tensor& x, const projection& by, const at::Tensor& y) {
  for (const auto& [down, up, first] : by.adapters)
    y.narrow(1, first, up.size(0)).add_(at::matmul(at::matmul(x.to(down.scalar_type()), down.t()), up.t()));
}

void tensor_operators::norm_activated(const norm_input& x, const norm& before, const projection& by,
                                      const parts::activation& how, const at::Tensor& y) {
  const auto made = at::empty({x.x.size(0), by.weights.size(0)}, x.x.options().dtype(at::kFloat));
  norm_linear(x, before, by, made);
  y.copy_(activated(made, how));
}

bool tensor_operators::linear_add(const at::Tensor& y, const projection& by, const residual& how,
                                  const norm_input& into) {
  add(product(y, by), how, into.x);
  if (!how.next || !into.weighted.defined() || !can_begin(*how.next)) return false;
  into.weighted.copy_(into.x * (how.next->weight.to(at::kFloat) + how.next->weight_offset));
  const auto whole = into.squares.size(1) * squared_numbers;
  const auto squares = at::constant_pad_nd(into.x.square(), {0, whole - into.x.size(1)});
  into.squares.copy_(squares.unflatten(1, {-1, squared_numbers}).sum(2));
  return true;
}

void tensor_operators::add_rows(const at::Tensor& rows, const residual& how, const at::Tensor& x) { add(rows, how, x); }

void tensor_operators::score(const at::Tensor& x, const norm& before, const head& by, const at::Tensor& logits) {
  if (by.to_width.weights.defined()) {
    const auto narrow = at::empty({x.size(0), by.width}, x.options());
    norm_linear(x, before, by.to_width, narrow);
    norm_linear(narrow, {}, by.product, logits);
  } else {
    norm_linear(x, before, by.product, logits);
  }
  if (by.scale != 1) logits.mul_(by.scale);
  if (by.softcap > 0) logits.div_(by.softcap).tanh_().mul_(by.softcap);
}

void tensor_operators::read_layer_inputs(const layer_inputs& from, const step_rows& rows, const at::Tensor& last,
                                         const at::Tensor& x, const at::Tensor& into) {
  const auto ids = ids_of(rows, last);
  const auto known = at::where(ids < from.vocabulary, ids, at::zeros_like(ids));
  const auto layers = product(x, from.projection).unflatten(1, {-1, from.norm.weight.size(0)});
  into.copy_(found_in(from.table, known, from.width) * from.scale + normed(layers, from.norm).flatten(1));
}

void tensor_operators::gate_layer_input(const at::Tensor& x, const norm& before, const layer_input& by,
                                        const at::Tensor& inputs, const at::Tensor& y) {
  norm_activated(x, before, by.gate, by.activation, y);
  y.copy_(y.to(at::kFloat) * inputs.narrow(1, by.first, by.width));
}

void tensor_operators::low_rank(const at::Tensor& x, const norm& before, const device::low_rank& by,
                                const at::Tensor& y) {
  const auto own = normed(x, before);
  y.copy_(own + normed(product(product(own, by.left), by.right), by.norm));
}

}  // namespace cogen::device
