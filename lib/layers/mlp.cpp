#include "layers/mlp.hpp"

#include "kernels/activation.hpp"

namespace cogen::layers {

mlp::mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
         kernels::activation bend)
    : intermediate_(intermediate),
      bend_(bend),
      inner_(weights, prefix, {{"fc1", intermediate}}, hidden, true),
      outer_(weights, prefix, {{"fc2", hidden}}, intermediate, true) {}

void mlp::add(const pass& pass, const activations& x, const activations& out) const {
  const arena::scope scratch(pass.space);
  const auto inner = pass.space.take(x.rows, intermediate_);
  inner_(pass, x, inner);
  const kernels::activated_rows rows(pass.run, {.kind = bend_,
                                                .x = inner.data,
                                                .x_stride = inner.stride,
                                                .out = inner.data,
                                                .out_stride = inner.stride,
                                                .rows = inner.rows,
                                                .width = intermediate_});
  outer_.add(pass, {inner, &rows}, out);
}

}  // namespace cogen::layers
