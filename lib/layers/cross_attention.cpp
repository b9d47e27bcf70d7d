#include "layers/cross_attention.hpp"

#include "kernels/attention.hpp"

#include <ATen/ops/from_blob.h>

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
at::Tensor heads_of(const activations& x, const models::attention_spec& spec) {
  return at::from_blob(x.data, {x.rows, spec.kv_heads, spec.head_dim}, {x.stride, spec.head_dim, 1}, at::kFloat);
}

}  // namespace

cross_attention::cross_attention(weight_reader& weights, const std::string& prefix, const models::attention_spec& spec,
                                 std::int64_t hidden)
    : spec_(spec),
      q_(weights, prefix, {{spec.qkv.at(0), spec.q_width()}}, hidden, spec.qkv_bias),
      kv_(weights, prefix, {{spec.qkv.at(1), spec.kv_width()}, {spec.qkv.at(2), spec.kv_width()}}, hidden,
          spec.qkv_bias),
      output_(weights, prefix, {{spec.output, hidden}}, spec.q_width(), spec.output_bias) {}

void cross_attention::remember(const forward_context& context, int layer, const activations& x) const {
  const arena::scope scratch(context.space);
  const auto kv = context.space.take(x.rows, 2 * spec_.kv_width());
  kv_(context, x, kv);
  context.memory.layer(layer).append(context.step, heads_of(kv.columns_from(0, spec_.kv_width()), spec_),
                                     heads_of(kv.columns_from(spec_.kv_width(), spec_.kv_width()), spec_));
}

void cross_attention::add(const forward_context& context, int layer, const activations& x,
                          const activations& out) const {
  const arena::scope scratch(context.space);
  const auto q = context.space.take(x.rows, spec_.q_width());
  q_(context, x, q);
  set_views_of_encoder(context, context.memory.layer(layer));
  kernels::attention(context.run, context.rows,
                     {.q = q.data,
                      .q_stride = q.stride,
                      .out = q.data,
                      .out_stride = q.stride,
                      .heads = spec_.heads,
                      .scale = static_cast<float>(spec_.scale)});
  output_.add(context, q, out);
}

}  // namespace cogen::layers
