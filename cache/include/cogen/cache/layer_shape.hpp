#pragma once

#include <cstdint>

namespace cogen::cache {

/// What a layer of the model attends to, hence what its cache has to remember.
enum class layer_kind : std::uint8_t {
  full,  ///< every earlier token
};

/// One layer of a model, as its configuration describes it.
struct layer_shape {
  layer_kind kind = layer_kind::full;
  int kv_heads = 0;
  int head_dim = 0;
};

/// Throws std::invalid_argument unless kv_heads and head_dim are at least 1, and together at most 2^24.
void check(const layer_shape& shape);

}  // namespace cogen::cache
