#pragma once

#include <cogen/cache/cache.hpp>

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace cogen::cache {

/// Keys and values of one layer for some sequences of the same length, [batch, heads, length, dim]: the form in which
/// tuples of past keys and values were passed around before there were caches.
struct legacy_layer {
  at::Tensor k;
  at::Tensor v;
};

/// Copies what `slots` hold, one legacy_layer for each layer of the cache: row b of a batch is slot slots[b]. Tensors
/// are in the layer's number format, or in float32 where some tokens are packed: then what they stand for is given. A
/// cross layer gives the encoder inputs.
///
/// Throws std::invalid_argument where no slot is given or their lengths differ, std::logic_error, naming the layer,
/// where it is recurrent or has forgotten tokens (a ring that a slot has outgrown).
std::vector<legacy_layer> to_legacy(const cache& cache, std::span<const int> slots);

/// Fills the empty slots with the tokens of such tensors, of any floating type, rounded to the layer's; encoder inputs
/// too. The layers must agree in their length.
///
/// Throws std::invalid_argument, naming the layer and what was found, for another number of layers, or tensors of
/// another shape; std::logic_error where a slot is not empty or a layer is recurrent, and like `cache::reserve` and
/// `cache::reserve_encoder`. Then the slots stay empty.
void from_legacy(cache& cache, std::span<const int> slots, std::span<const legacy_layer> layers);

}  // namespace cogen::cache
