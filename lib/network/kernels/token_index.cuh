#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cstdint>

namespace cogen::kernels::cuda {

/// index_of() for kernels.
__device__ inline int token_index(const kv_layer& layer, int position) {
  if (layer.ring == 0 || position < layer.sinks) return position;
  return layer.sinks + (position - layer.sinks) % layer.ring;
}

}  // namespace cogen::kernels::cuda
