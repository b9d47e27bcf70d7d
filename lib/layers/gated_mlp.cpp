#include "layers/gated_mlp.hpp"

#include "kernels/activation.hpp"

namespace cogen::layers {

gated_mlp::gated_mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
                     bool bias, kernels::activation bend)
    : intermediate_(intermediate),
      bend_(bend),
      gate_up_(weights, prefix, {{"gate_proj", intermediate}, {"up_proj", intermediate}}, hidden, bias),
      down_(weights, prefix, {{"down_proj", hidden}}, intermediate, bias) {}

void gated_mlp::operator()(const pass& pass, const activations& x, const activations& out) const {
  const arena::scope scratch(pass.space);
  down_(pass, gated(pass, x), out);
}

void gated_mlp::add(const pass& pass, const activations& x, const activations& out) const {
  const arena::scope scratch(pass.space);
  down_.add(pass, gated(pass, x), out);
}

activations gated_mlp::gated(const pass& pass, const activations& x) const {
  const auto gate_up = pass.space.take(x.rows, 2 * intermediate_);
  const auto gate = gate_up.columns_from(0, intermediate_);
  gate_up_(pass, x, gate_up);
  kernels::activate(pass.run, {.kind = bend_,
                               .x = gate.data,
                               .x_stride = gate.stride,
                               .factor = gate.data + intermediate_,
                               .factor_stride = gate.stride,
                               .out = gate.data,
                               .out_stride = gate.stride,
                               .rows = x.rows,
                               .width = intermediate_});
  return gate;
}

}  // namespace cogen::layers
