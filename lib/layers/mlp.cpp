#include "layers/mlp.hpp"

#include "kernels/activation.hpp"

namespace cogen::layers {

mlp::mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
         kernels::activation activation_of)
    : intermediate_(intermediate),
      activation_of_(activation_of),
      inner_(weights, prefix, {{"fc1", intermediate}}, hidden, true),
      outer_(weights, prefix, {{"fc2", hidden}}, intermediate, true) {}

void mlp::add(const forward_context& context, const activations& x, const activations& out) const {
  const arena::scope scratch(context.space);
  const auto inner = context.space.take(x.rows, intermediate_);
  inner_(context, x, inner);
  const kernels::activated_rows rows(context.run, {.kind = activation_of_,
                                                   .x = inner.data,
                                                   .x_stride = inner.stride,
                                                   .out = inner.data,
                                                   .out_stride = inner.stride,
                                                   .rows = inner.rows,
                                                   .width = intermediate_});
  outer_.add(context, {inner, &rows}, out);
}

}  // namespace cogen::layers
