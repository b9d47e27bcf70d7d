#pragma once

// Keys and values of a cache as tensors, for programs that hold them as Transformers did before version 5.

#include <cogen/cache/cache.hpp>

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace example {

/// Keys and values of one layer for sequences of the same length, [batch, heads, length, dim]: an entry of
/// Transformers' legacy `past_key_values` tuple.
struct legacy_layer {
  at::Tensor k;
  at::Tensor v;
};

/// Copies what `slots` hold, one legacy_layer for each layer of the cache: row b of the batch is slot slots[b]. Tensors
/// have the layer's number format, or float32 if it quantizes. A cross layer gives the encoder inputs.
///
/// Throws std::invalid_argument if no slot is given or their lengths differ. Throws std::logic_error, naming the layer,
/// if it is recurrent or has dropped tokens (a ring that a slot has outgrown).
std::vector<legacy_layer> to_legacy(const cogen::cache::cache& cache, std::span<const int> slots);

/// Fills the empty slots with such tensors, of any floating type, rounded to the layer's; encoder inputs, too. All
/// layers must have the same length.
///
/// Throws std::invalid_argument, naming the layer and what was found, for a wrong number of layers or a wrong shape.
/// Throws std::logic_error if a slot is not empty or a layer is recurrent, and like `cache::reserve` and
/// `cache::reserve_encoder`. Then the slots stay empty.
void from_legacy(cogen::cache::cache& cache, std::span<const int> slots, std::span<const legacy_layer> layers);

}  // namespace example
