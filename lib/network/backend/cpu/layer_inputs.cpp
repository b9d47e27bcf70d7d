#include "network/backend/cpu/operators.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"
#include "network/kernels/embed.hpp"

#include <algorithm>

namespace cogen::cpu {

namespace {

/// The tokens, with 0 for those that a table does not have.
std::span<const token> within(const forward_context& context, std::int64_t vocabulary, std::span<const token> tokens) {
  if (std::ranges::all_of(tokens, [&](token id) { return id < vocabulary; })) return tokens;
  const auto ids = context.space.take_integers(static_cast<std::int64_t>(tokens.size()));
  std::ranges::transform(tokens, ids.begin(), [&](token id) { return id < vocabulary ? id : 0; });
  return ids;
}

}  // namespace

void operators::read_layer_inputs(const parts::layer_inputs<forms>& from, std::span<const token> tokens,
                                  const activations& x) {
  layer_inputs_ = context_.space.take(x.rows, from.width);
  const auto scratch = this->scratch();
  const auto ids = within(context_, from.vocabulary, tokens);
  kernels::embed(context_.run, *from.table, ids, layer_inputs_.data, layer_inputs_.stride, from.scale);
  const auto projected = context_.space.take(x.rows, from.width);
  from.projection(context_, x, projected);
  from.norm->add(context_, projected, layer_inputs_);
}

kernels::activation_operands operators::gate_layer_input(const activations& x, const forms::norm& before,
                                                         const parts::layer_input<forms>& by) {
  if (x.rows < layer_inputs_.rows) layer_inputs_ = keep(layer_inputs_);
  auto gate = norm_activated(x, before, by.gate, by.activation, by.width);
  gate.factor = layer_inputs_.data + by.first;
  gate.factor_stride = layer_inputs_.stride;
  return gate;
}

}  // namespace cogen::cpu
