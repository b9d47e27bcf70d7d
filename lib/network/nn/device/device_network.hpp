#pragma once

#include "network/backend/collectives.hpp"
#include "network/backend/operators.hpp"
#include "network/backend/stream.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/detail/cache/kv_cache_spec.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::nn {

class pooler;

/// The intermediate tensors of forwards of up to a number of tokens. Their addresses never change.
struct device_scratch {
  at::Tensor x;          // [tokens, hidden] float32
  at::Tensor weighted;   // [max_begun_rows at most, hidden], of norm_input
  at::Tensor squares;    // [the same, hidden / squared_numbers] float32
  at::Tensor qkv;        // [tokens, (heads + 2 kv_heads) * head_dim], or what goes into a recurrent mixer
  at::Tensor sink_q;     // [tokens, heads * head_dim], where a cache has sinks
  at::Tensor attended;   // [tokens, heads * head_dim]
  at::Tensor mixed;      // [tokens, channels], what comes out of a recurrent mixer
  at::Tensor decisions;  // [tokens, decisions] float32, of recurrent mixers
  at::Tensor gated;      // [tokens, intermediate]
  at::Tensor routed;     // [tokens, hidden] float32, rows that experts read
  at::Tensor shares;     // [tokens, experts] float32
  at::Tensor joined;     // [tokens, hidden] float32, the sum of blocks that are normed together, or what is passed on
  at::Tensor inputs;     // [tokens, columns] float32, the tokens' vectors for all layers
  at::Tensor streams;    // [tokens, columns] float32, all streams of hidden states
  at::Tensor wide;       // [tokens, 2 * hidden] float32, x | embeddings
  at::Tensor partial;    // [tokens, hidden] float32, what other ranks' numbers are added to

  /// Its first rows.
  device_scratch first(std::int64_t tokens) const;

  std::int64_t bytes() const noexcept;
};

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

/// A decoder, and its encoder if it has one, with weights on a device. Immutable; used by one thread at a time for a
/// scratch and a cache.
class device_network {
 public:
  virtual ~device_network() = default;

  virtual const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept = 0;
  virtual std::int64_t weight_bytes() const noexcept = 0;

  /// The type of weights and activations.
  virtual at::ScalarType type() const noexcept = 0;
  virtual at::Device device() const noexcept = 0;

  /// Those that share the model; null if it is whole. Then all of them make the same calls in the same order.
  virtual device::collectives* ranks() const noexcept { return nullptr; }

  /// For caches with sinks or without.
  virtual device_scratch make_scratch(std::int64_t tokens, bool sinks) const = 0;

  /// Enqueues the step's forward, whose tokens go to the cache. Returns the hidden states after the tokens that
  /// `outputs` names (int32; undefined: after all), in that order: [outputs, hidden], in the scratch. `last` [slots]
  /// int32 are the tokens last sampled in each slot. Arguments are valid, and the scratch has a row for each token.
  virtual at::Tensor forward(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                             const at::Tensor& outputs, const device_memory& memory,
                             const device_scratch& scratch) const = 0;

  virtual bool has_encoder() const noexcept { return false; }
  virtual bool has_position_table() const noexcept { return false; }

  /// Enqueues the encoder over the step's rows, each a whole encoder input. Writes what cross layers keep of them to
  /// the cache, where they do not count yet. Arguments are as those of forward(). Throws std::logic_error if there is
  /// no encoder.
  virtual void encode(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                      const device_memory& memory, const device_scratch& scratch) const = 0;

  /// As models::batch_variant_part().
  virtual std::optional<std::string_view> batch_variant_part() const noexcept { return std::nullopt; }

  virtual bool generates() const noexcept { return true; }

  /// Makes vectors of texts; null if it does not.
  virtual const pooler* pooling() const noexcept { return nullptr; }

  /// How much further the vectors of positions in a pair's second text are.
  virtual std::int64_t second_text() const noexcept { return 0; }

  /// Enqueues a pass over the step's rows, each a whole text. Returns hidden states as forward() does. Nothing is
  /// cached. Throws std::logic_error if it makes no vectors of texts.
  virtual at::Tensor read_texts(device::operators& ops, const device::step_rows& rows, const at::Tensor& last,
                                const at::Tensor& outputs, const device_memory& memory,
                                const device_scratch& scratch) const;

  /// logits [rows, vocabulary] float32, of rows that forward() returned. They stay as they are on ranks that do not
  /// gather.
  virtual void score(device::operators& ops, const at::Tensor& rows, const at::Tensor& logits) const = 0;
};

}  // namespace cogen::nn
