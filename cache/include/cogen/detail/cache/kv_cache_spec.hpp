#pragma once

#include <cstdint>

namespace cogen::cache {

/// What a layer of the model attends to, hence what its cache stores.
enum class layer_kind : std::uint8_t {
  full,       ///< every earlier token
  sliding,    ///< the last `window` tokens, including its own
  chunked,    ///< earlier tokens of its own chunk of `window` positions
  cross,      ///< every token of the encoder input
  recurrent,  ///< nothing: it has a state of a fixed size
};

/// One layer of a model, as its configuration describes it.
struct kv_cache_spec {
  layer_kind kind = layer_kind::full;
  int kv_heads = 0;        ///< recurrent: 0
  int head_dim = 0;        ///< recurrent: 0
  int window = 0;          ///< sliding, chunked; 0 otherwise
  std::int64_t state = 0;  ///< recurrent: float32 numbers in the state of one slot; 0 otherwise

  /// Latent attention (DeepSeek-AI, arXiv:2405.04434): a value is the first so many numbers of its key, and is not
  /// stored. 0: values are stored, as wide as keys.
  int latent_dim = 0;

  int value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }

  friend bool operator==(const kv_cache_spec&, const kv_cache_spec&) = default;
};

/// Throws std::invalid_argument, naming the field and its limit, unless the fields that the kind uses are at least 1
/// (kv_heads * head_dim and state at most 2^24) and the others are 0; latent_dim may be 0 to head_dim, and is 0 in
/// recurrent layers.
void check(const kv_cache_spec& shape);

}  // namespace cogen::cache
