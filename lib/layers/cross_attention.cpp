#include "layers/cross_attention.hpp"

#include "kernels/attention.hpp"

#include <ATen/ops/from_blob.h>

#include <cmath>
#include <stdexcept>

namespace cogen::layers {

namespace {

void set_views_of_encoder(const forward_context& context, const cache::layer& layer) {
  const auto slots = context.step.rows();
  for (std::size_t index = 0; index < slots.size(); ++index) {
    const auto view = layer.view(slots[index].slot, layer.slots().length(slots[index].slot));
    if (!view) throw std::logic_error("a layer that remembers an encoder input must be one that is read in place");
    context.rows[index].cache = *view;
  }
}

/// Columns of one row after the other as [rows, heads, head_dim].
at::Tensor heads_of(const activations& x, const cross_shape& shape) {
  return at::from_blob(x.data, {x.rows, shape.heads, shape.head_dim}, {x.stride, shape.head_dim, 1}, at::kFloat);
}

}  // namespace

cross_attention::cross_attention(weight_reader& weights, const std::string& prefix, const cross_shape& shape)
    : shape_(shape),
      scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)))),
      q_(weights, prefix, {{"q_proj", shape.width()}}, shape.hidden, true),
      kv_(weights, prefix, {{"k_proj", shape.width()}, {"v_proj", shape.width()}}, shape.hidden, true),
      output_(weights, prefix, {{"out_proj", shape.hidden}}, shape.width(), true) {}

void cross_attention::remember(const forward_context& context, int layer, const activations& x) const {
  const arena::scope scratch(context.space);
  const auto kv = context.space.take(x.rows, 2 * shape_.width());
  kv_(context, x, kv);
  context.memory.layer(layer).append(context.step, heads_of(kv.columns_from(0, shape_.width()), shape_),
                                     heads_of(kv.columns_from(shape_.width(), shape_.width()), shape_));
}

void cross_attention::add(const forward_context& context, int layer, const activations& x,
                          const activations& out) const {
  const arena::scope scratch(context.space);
  const auto q = context.space.take(x.rows, shape_.width());
  q_(context, x, q);
  set_views_of_encoder(context, context.memory.layer(layer));
  kernels::attention(context.run, context.rows,
                     {.q = q.data,
                      .q_stride = q.stride,
                      .out = q.data,
                      .out_stride = q.stride,
                      .heads = shape_.heads,
                      .scale = scale_});
  output_.add(context, q, out);
}

}  // namespace cogen::layers
