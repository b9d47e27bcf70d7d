#pragma once

#include "kernels/rope.hpp"
#include "layers/forward_context.hpp"

#include <cogen/cache/layer.hpp>

namespace cogen::layers {

struct heads_shape {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  float scale = 1;
};

/// Attention over a cache layer of any kind, through append(), to_dense() and a boolean mask: the plain reference of
/// the kernels, and the path for layers that cannot be read in place.
///
/// qkv [step.tokens(), q|k|v]: rotates queries and keys, caches keys and values, writes the result over the queries.
/// Each query's sums run over its own keys in ascending order, so its result is batch-invariant, too. Allocates.
void attend_generically(const forward_context& context, cache::layer& layer, const kernels::rope_table* rope,
                        const heads_shape& shape, const activations& qkv);

}  // namespace cogen::layers
