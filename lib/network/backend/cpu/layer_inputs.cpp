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

void operators::read_layer_inputs(const parts::layer_inputs<forms>& vectors, std::span<const token> tokens,
                                  const activations& x) {
  layer_inputs_ = context_.space.take(x.rows, vectors.width);
  const auto scratch = this->scratch();
  const auto ids = within(context_, vectors.vocabulary, tokens);
  kernels::embed(context_.run, *vectors.table, ids, layer_inputs_.data, layer_inputs_.stride, vectors.scale);
  const auto projected = context_.space.take(x.rows, vectors.width);
  vectors.projection(context_, x, projected);
  vectors.norm->add(context_, projected, layer_inputs_);
}

kernels::activation_operands operators::gate_layer_input(const activations& x, const forms::norm& pre_norm,
                                                         const parts::layer_input<forms>& part) {
  if (x.rows < layer_inputs_.rows) layer_inputs_ = keep(layer_inputs_);
  auto gate = norm_activated(x, pre_norm, part.gate, part.activation, part.width);
  gate.factor = layer_inputs_.columns_from(part.first, part.width);
  return gate;
}

}  // namespace cogen::cpu
