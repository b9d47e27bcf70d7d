#include "layers/attention.hpp"

#include "kernels/attention.hpp"
#include "kernels/rope.hpp"
#include "layers/generic_attention.hpp"

#include <cmath>
#include <utility>

namespace cogen::layers {

namespace {

/// Sets the rows' views to those of one layer; false where it has none.
bool set_views(const forward_context& context, const cache::layer& layer) {
  const auto slots = context.step.rows();
  for (std::size_t index = 0; index < slots.size(); ++index) {
    auto& row = context.rows[index];
    const auto view = layer.view(slots[index].slot, static_cast<int>(row.offset + row.count));
    if (!view) return false;
    row.cache = *view;
  }
  return true;
}

}  // namespace

attention::attention(weight_reader& weights, const std::string& prefix, attention_shape shape)
    : shape_(std::move(shape)),
      scale_(static_cast<float>(shape_.scale.value_or(1 / std::sqrt(static_cast<double>(shape_.head_dim))))),
      qkv_(weights, prefix,
           {{"q_proj", shape_.q_width()}, {"k_proj", shape_.kv_width()}, {"v_proj", shape_.kv_width()}}, shape_.hidden,
           shape_.bias),
      output_(weights, prefix, {{shape_.output, shape_.hidden}}, shape_.q_width(), shape_.bias) {
  if (!shape_.norms) return;
  const auto norm = [&](const char* name) {
    return rms_norm(weights, prefix + name, shape_.head_dim, shape_.norms->epsilon, shape_.norms->weight_offset);
  };
  norms_.emplace(norms{norm("q_norm.weight"), norm("k_norm.weight")});
}

void attention::operator()(const forward_context& context, int layer, const input& x, const activations& out) const {
  const arena::scope scratch(context.space);
  output_(context, attended(context, layer, x), out);
}

void attention::add(const forward_context& context, int layer, const input& x, const activations& out) const {
  const arena::scope scratch(context.space);
  output_.add(context, attended(context, layer, x), out);
}

/// What the heads found, side by side: [step.tokens(), q_width]
activations attention::attended(const forward_context& context, int layer, const input& x) const {
  const auto qkv = context.space.take(x.rows.rows, shape_.q_width() + 2 * shape_.kv_width());
  qkv_(context, x, qkv);
  if (norms_) norm_heads(context, qkv);
  const auto table = shape_.rope ? shape_.rope->covering(context.reach()) : nullptr;
  auto& memory = context.memory.layer(layer);
  if (set_views(context, memory)) {
    attend_in_place(context, memory, table.get(), qkv);
  } else {
    attend_generically(context, memory, table.get(), {shape_.heads, shape_.kv_heads, shape_.head_dim, scale_}, qkv);
  }
  return qkv.columns_from(0, shape_.q_width());
}

void attention::norm_heads(const forward_context& context, const activations& qkv) const {
  const auto q = qkv.columns_from(0, shape_.q_width());
  const auto k = qkv.columns_from(shape_.q_width(), shape_.kv_width());
  norms_->q(context, q, q);
  norms_->k(context, k, k);
}

void attention::attend_in_place(const forward_context& context, cache::layer& memory, const kernels::rope_table* rope,
                                const activations& qkv) const {
  const bool has_sinks = memory.span().sinks > 0;
  const auto sink_q = has_sinks ? context.space.take(qkv.rows, shape_.q_width()) : activations{};
  kernels::rope_append(context.run, rope, context.rows,
                       {.q = qkv.data,
                        .q_stride = qkv.stride,
                        .k = qkv.data + shape_.q_width(),
                        .k_stride = qkv.stride,
                        .v = qkv.data + shape_.q_width() + shape_.kv_width(),
                        .v_stride = qkv.stride,
                        .heads = shape_.heads,
                        .sink_q = sink_q.data,
                        .sink_q_stride = sink_q.stride});
  memory.written(context.step);
  kernels::attention(context.run, context.rows,
                     {.q = qkv.data,
                      .q_stride = qkv.stride,
                      .out = qkv.data,
                      .out_stride = qkv.stride,
                      .heads = shape_.heads,
                      .scale = scale_,
                      .sink_q = sink_q.data,
                      .sink_q_stride = sink_q.stride});
}

}  // namespace cogen::layers
