#pragma once

#include <cogen/cache/device_cache.hpp>

namespace cogen::nn {

/// Called by a forward before and after each layer, if tokens are on the host and layers are prefetched.
class layer_prefetcher {
 public:
  virtual ~layer_prefetcher() = default;

  /// Waits until the layer's tokens are on the device.
  virtual void wait_layer(int layer) = 0;

  /// The layer's new tokens are written, too.
  virtual void store_layer(int layer) = 0;
};

/// What a forward reads and appends to.
struct device_memory {
  const cache::device_cache& cache;
  layer_prefetcher* prefetcher = nullptr;  // null: all tokens are on the device
};

}  // namespace cogen::nn
