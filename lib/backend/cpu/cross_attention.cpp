#include "backend/cpu/heads.hpp"
#include "kernels/attention.hpp"

#include <ATen/ops/from_blob.h>

#include <stdexcept>

namespace cogen::cpu {

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
at::Tensor heads_of(const activations& x, const models::attention_spec& spec) {
  return at::from_blob(x.data, {x.rows, spec.kv_heads, spec.head_dim}, {x.stride, spec.head_dim, 1}, at::kFloat);
}

}  // namespace

void heads::cache_encoder_input(const forward_context& context, int layer, const activations& kv) const {
  context.memory.layer(layer).append(context.step, heads_of(kv.columns_from(0, spec_.kv_width()), spec_),
                                     heads_of(kv.columns_from(spec_.kv_width(), spec_.kv_width()), spec_));
}

activations heads::attend_to_encoder_input(const forward_context& context, int layer, const activations& q) const {
  set_views_of_encoder(context, context.memory.layer(layer));
  kernels::attention(context.run, context.rows,
                     {.q = q.data,
                      .q_stride = q.stride,
                      .out = q.data,
                      .out_stride = q.stride,
                      .heads = spec_.heads,
                      .scale = static_cast<float>(spec_.scale)});
  return q;
}

}  // namespace cogen::cpu
