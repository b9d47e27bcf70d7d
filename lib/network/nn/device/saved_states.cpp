#include "network/nn/device/saved_states.hpp"

#include <ATen/ops/empty.h>

namespace cogen::nn {

saved_states::saved_states(const cache::device_cache& cache)
    : cache_(cache), saved_(static_cast<std::size_t>(cache.slots())) {
  if (cache.has_states()) copies_ = at::empty({cache.slots(), 1, state(0).size(2)}, state(0).options());
}

void saved_states::save(int slot) {
  if (!cache_.has_states()) return;
  restore(slot);
  copy(slot).copy_(state(slot), true);
  saved_[static_cast<std::size_t>(slot)] = true;
}

void saved_states::restore(int slot) {
  if (saved_[static_cast<std::size_t>(slot)]) state(slot).copy_(copy(slot), true);
}

}  // namespace cogen::nn
