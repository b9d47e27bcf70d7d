#include "layers/attention.hpp"

#include "kernels/attention.hpp"
#include "kernels/rope.hpp"
#include "layers/generic_attention.hpp"

#include <cmath>

namespace cogen::layers {

namespace {

/// Sets the rows' views to those of one layer; false where it has none.
bool set_views(const pass& pass, const cache::layer& layer) {
  const auto slots = pass.step.rows();
  for (std::size_t index = 0; index < slots.size(); ++index) {
    auto& row = pass.rows[index];
    const auto view = layer.view(slots[index].slot, static_cast<int>(row.offset + row.count));
    if (!view) return false;
    row.cache = *view;
  }
  return true;
}

}  // namespace

attention::attention(weight_reader& weights, const std::string& prefix, const attention_shape& shape)
    : shape_(shape),
      scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)))),
      qkv_(weights, prefix, {{"q_proj", shape.q_width()}, {"k_proj", shape.kv_width()}, {"v_proj", shape.kv_width()}},
           shape.hidden, shape.bias),
      output_(weights, prefix, {{"o_proj", shape.hidden}}, shape.q_width(), shape.bias) {}

void attention::add(const pass& pass, int layer, const kernels::rope_table* rope, const activations& x,
                    const activations& out) const {
  const arena::scope scratch(pass.space);
  const auto qkv = pass.space.take(x.rows, shape_.q_width() + 2 * shape_.kv_width());
  qkv_(pass, x, qkv);
  auto& memory = pass.memory.layer(layer);
  if (set_views(pass, memory)) {
    attend_in_place(pass, rope, qkv);
  } else {
    attend_generically(pass, memory, rope, {shape_.heads, shape_.kv_heads, shape_.head_dim, scale_}, qkv);
  }
  output_.add(pass, qkv.columns_from(0, shape_.q_width()), out);
}

void attention::attend_in_place(const pass& pass, const kernels::rope_table* rope, const activations& qkv) const {
  kernels::rope_append(pass.run, rope, pass.rows,
                       {.q = qkv.data,
                        .q_stride = qkv.stride,
                        .k = qkv.data + shape_.q_width(),
                        .k_stride = qkv.stride,
                        .v = qkv.data + shape_.q_width() + shape_.kv_width(),
                        .v_stride = qkv.stride,
                        .heads = shape_.heads});
  kernels::attention(pass.run, pass.rows,
                     {.q = qkv.data,
                      .q_stride = qkv.stride,
                      .out = qkv.data,
                      .out_stride = qkv.stride,
                      .heads = shape_.heads,
                      .scale = scale_});
}

}  // namespace cogen::layers
