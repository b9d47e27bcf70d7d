#include "network/backend/cpu/layer_states.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

namespace cogen::cpu {

std::span<const kernels::token_rows> rows_with_states(const forward_context& context, int layer, int draft) {
  const auto slots = context.step.rows();
  std::size_t count = 0;
  for (std::size_t index = 0; index < slots.size(); ++index) {
    const auto& [slot, tokens, drafts] = slots[index];
    if (draft > drafts) continue;
    const auto state = context.memory.layer(layer).state(slot, draft);
    if (!state) throw std::logic_error(fmt::format("layer {} of the cache keeps no states", layer));
    const auto& row = context.rows[index];
    const int begin = draft == 0 ? 0 : tokens - drafts + draft - 1;
    context.state_rows[count++] = {.first = row.first + begin,
                                   .count = draft == 0 ? tokens - drafts : 1,
                                   .offset = row.offset + begin,
                                   .initial_state = state->previous,
                                   .final_state = state->next};
  }
  return context.state_rows.first(count);
}

}  // namespace cogen::cpu
