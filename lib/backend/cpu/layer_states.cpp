#include "backend/cpu/layer_states.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

namespace cogen::cpu {

void set_states(const forward_context& context, int layer) {
  const auto slots = context.step.rows();
  for (std::size_t index = 0; index < slots.size(); ++index) {
    const auto state = context.memory.layer(layer).state(slots[index].slot);
    if (!state) throw std::logic_error(fmt::format("layer {} of the cache keeps no states", layer));
    context.rows[index].before = state->before;
    context.rows[index].after = state->after;
  }
}

}  // namespace cogen::cpu
