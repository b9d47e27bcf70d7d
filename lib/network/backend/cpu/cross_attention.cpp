#include "network/backend/cpu/heads.hpp"
#include "network/kernels/attention.hpp"
#include "network/kernels/rope.hpp"

#include <stdexcept>

namespace cogen::cpu {

namespace {

/// Of what the slots hold of encoder inputs, and of those of this step if they come now.
void set_views_of_encoder(const forward_context& context, const cache::layer& layer, bool come = false) {
  const auto slots = context.step.rows();
  for (std::size_t index = 0; index < slots.size(); ++index) {
    const auto [slot, count, drafts] = slots[index];
    const auto view = layer.view(slot, layer.slots().length(slot) + (come ? count : 0));
    if (!view) throw std::logic_error("a layer that remembers an encoder input must be one that is read in place");
    context.rows[index].cache = *view;
  }
}

}  // namespace

void heads::cache_encoder_input(const forward_context& context, int layer, const activations& kv) const {
  auto& memory = context.memory.layer(layer);
  set_views_of_encoder(context, memory, true);
  kernels::rope_append(context.run, nullptr, context.rows,
                       {.k = kv, .v = kv.columns_from(spec_.kv_width(), spec_.kv_width())});
  memory.written(context.step);
}

activations heads::attend_to_encoder_input(const forward_context& context, int layer, const activations& q) const {
  set_views_of_encoder(context, context.memory.layer(layer));
  kernels::attention(context.run, context.rows,
                     {.q = q, .out = q, .heads = spec_.heads, .scale = static_cast<float>(spec_.scale)});
  return q;
}

}  // namespace cogen::cpu
