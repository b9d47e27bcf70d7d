#include "layers/gated_mlp.hpp"

namespace cogen::layers {
namespace {

activations written_by(const kernels::activation_operands& made) {
  return {.data = made.out, .rows = made.rows, .columns = made.width, .stride = made.out_stride};
}

}  // namespace

gated_mlp::gated_mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
                     bool bias, kernels::activation bend)
    : intermediate_(intermediate),
      bend_(bend),
      gate_up_(weights, prefix, {{"gate_proj", intermediate}, {"up_proj", intermediate}}, hidden, bias),
      down_(weights, prefix, {{"down_proj", hidden}}, intermediate, bias) {}

void gated_mlp::operator()(const pass& pass, const input& x, const activations& out) const {
  const arena::scope scratch(pass.space);
  const auto gate = gated(pass, x);
  const kernels::activated_rows rows(pass.run, gate);
  down_(pass, {written_by(gate), &rows}, out);
}

void gated_mlp::add(const pass& pass, const input& x, const activations& out) const {
  const arena::scope scratch(pass.space);
  const auto gate = gated(pass, x);
  const kernels::activated_rows rows(pass.run, gate);
  down_.add(pass, {written_by(gate), &rows}, out);
}

/// In the gate's place.
kernels::activation_operands gated_mlp::gated(const pass& pass, const input& x) const {
  const auto gate_up = pass.space.take(x.rows.rows, 2 * intermediate_);
  gate_up_(pass, x, gate_up);
  return {.kind = bend_,
          .x = gate_up.data,
          .x_stride = gate_up.stride,
          .factor = gate_up.data + intermediate_,
          .factor_stride = gate_up.stride,
          .out = gate_up.data,
          .out_stride = gate_up.stride,
          .rows = gate_up.rows,
          .width = intermediate_};
}

}  // namespace cogen::layers
