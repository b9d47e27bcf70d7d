#include "layers/gated_mlp.hpp"

namespace cogen::layers {
namespace {

activations written_by(const kernels::activation_operands& made) {
  return {.data = made.out, .rows = made.rows, .columns = made.width, .stride = made.out_stride};
}

}  // namespace

gated_mlp::gated_mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
                     bool bias, kernels::activation activation_of)
    : intermediate_(intermediate),
      activation_of_(activation_of),
      gate_up_(weights, prefix, {{"gate_proj", intermediate}, {"up_proj", intermediate}}, hidden, bias),
      down_(weights, prefix, {{"down_proj", hidden}}, intermediate, bias) {}

void gated_mlp::operator()(const forward_context& context, const input& x, const activations& out) const {
  const arena::scope scratch(context.space);
  const auto gate = gated(context, x);
  const kernels::activated_rows rows(context.run, gate);
  down_(context, {written_by(gate), &rows}, out);
}

void gated_mlp::add(const forward_context& context, const input& x, const activations& out) const {
  const arena::scope scratch(context.space);
  const auto gate = gated(context, x);
  const kernels::activated_rows rows(context.run, gate);
  down_.add(context, {written_by(gate), &rows}, out);
}

/// In the gate's place.
kernels::activation_operands gated_mlp::gated(const forward_context& context, const input& x) const {
  const auto gate_up = context.space.take(x.rows.rows, 2 * intermediate_);
  gate_up_(context, x, gate_up);
  return {.kind = activation_of_,
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
