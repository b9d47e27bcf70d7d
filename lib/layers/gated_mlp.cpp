#include "layers/gated_mlp.hpp"

#include "kernels/activation.hpp"

namespace cogen::layers {

gated_mlp::gated_mlp(weight_reader& weights, const std::string& prefix, std::int64_t hidden, std::int64_t intermediate,
                     bool bias)
    : intermediate_(intermediate),
      gate_up_(weights, prefix, {{"gate_proj", intermediate}, {"up_proj", intermediate}}, hidden, bias),
      down_(weights, prefix, {{"down_proj", hidden}}, intermediate, bias) {}

void gated_mlp::add(const pass& pass, const activations& x, const activations& out) const {
  const arena::scope scratch(pass.space);
  const auto gate_up = pass.space.take(x.rows, 2 * intermediate_);
  const auto gated = gate_up.columns_from(0, intermediate_);
  gate_up_(pass, x, gate_up);
  kernels::silu_mul(pass.run, {.gate_up = gate_up.data,
                               .gate_up_stride = gate_up.stride,
                               .out = gated.data,
                               .out_stride = gated.stride,
                               .rows = x.rows,
                               .width = intermediate_});
  down_.add(pass, gated, out);
}

}  // namespace cogen::layers
