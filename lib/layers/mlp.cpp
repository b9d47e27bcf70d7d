#include "layers/mlp.hpp"

#include "layers/mlp_rows.hpp"

#include <initializer_list>

namespace cogen::layers {

namespace {

activations written_by(const kernels::activation_operands& made) {
  return {.data = made.out, .rows = made.rows, .columns = made.width, .stride = made.out_stride};
}

}  // namespace

mlp::mlp(weight_reader& weights, const std::string& prefix, const models::mlp_spec& spec, std::int64_t hidden)
    : intermediate_(spec.intermediate),
      activation_(spec.activation),
      gated_(!spec.gate.empty()),
      parameters_(activation_parameters(spec, prefix, weights.number_reader())),
      up_(weights, prefix, up_rows(spec, ""), hidden, spec.bias),
      down_(weights, prefix, {{.name = spec.down, .rows = hidden, .transposed = spec.transposed}}, spec.intermediate,
            spec.bias) {}

void mlp::operator()(const forward_context& context, const input& x, const activations& out) const {
  const arena::scope scratch(context.space);
  const auto made = inner(context, x);
  const kernels::activated_rows rows(context.run, made);
  down_(context, {written_by(made), &rows}, out);
}

void mlp::add(const forward_context& context, const input& x, const activations& out) const {
  const arena::scope scratch(context.space);
  const auto made = inner(context, x);
  const kernels::activated_rows rows(context.run, made);
  down_.add(context, {written_by(made), &rows}, out);
}

/// In the place of the gate, or of what comes up.
kernels::activation_operands mlp::inner(const forward_context& context, const input& x) const {
  const auto up = context.space.take(x.rows.rows, gated_ ? 2 * intermediate_ : intermediate_);
  up_(context, x, up);
  return {.kind = activation_,
          .x = up.data,
          .x_stride = up.stride,
          .factor = gated_ ? up.data + intermediate_ : nullptr,
          .factor_stride = up.stride,
          .out = up.data,
          .out_stride = up.stride,
          .rows = up.rows,
          .width = intermediate_,
          .parameters = parameters_.data()};
}

}  // namespace cogen::layers
