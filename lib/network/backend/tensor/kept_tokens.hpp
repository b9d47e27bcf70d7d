#pragma once

#include "network/backend/tensor/slot_rows.hpp"

#include <cogen/cache/device_cache.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace cogen::device {

/// What queries can read: keys and values of some sequences, in any order of their positions.
struct kept_tokens {
  at::Tensor keys;             ///< [sequences, kv_heads, places, head_dim] float32
  at::Tensor values;           ///< the same, or as wide as latent vectors
  at::Tensor positions;        ///< [sequences, places] int64; below 0: nothing is there
  std::int64_t quantized = 0;  ///< the first so many places are quantized
};

/// All places of some slots. plane [slots, places, kv_heads, …], of a layer; slots [sequences] int64
at::Tensor tokens_of_slots(const at::Tensor& plane, const at::Tensor& slots);

/// The first places of some slots that use them in the order of positions, up to position `newest` [sequences] of each.
/// Behind that nothing is read, since there may be no memory: the newest token is repeated.
at::Tensor held_tokens_of_slots(const at::Tensor& plane, const at::Tensor& slots, const at::Tensor& newest,
                                std::int64_t places);

/// Places [first, first + count) of one slot, as the only sequence.
at::Tensor tokens_of_slot(const at::Tensor& plane, std::int64_t slot, std::int64_t first, std::int64_t count);

/// The positions in all places of slots that hold tokens up to position `newest` [sequences]: [sequences, places].
at::Tensor positions_in(const cache::device_layer& layer, const at::Tensor& newest);

/// The places that hold some positions.
at::Tensor places_of(const cache::device_layer& layer, const at::Tensor& positions);

/// Writes a step's tokens [tokens, kv_heads, …] to some places [tokens] of their slots.
void store(const at::Tensor& tokens, const at::Tensor& plane, const slot_rows& rows, const at::Tensor& places);

}  // namespace cogen::device
