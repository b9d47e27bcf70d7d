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

/// Attention over a cache layer of any kind, through append(), to_dense() and a boolean mask: the naive
/// specification of what the kernels do in place, and the path of kinds that cannot be read there.
///
/// qkv [step.tokens(), q|k|v]: rotates queries and keys, remembers keys and values, puts the result in the queries'
/// place. Each query's sums run over its own keys in ascending order, so its result does not depend on its company
/// either. Allocates.
void attend_generically(const forward_context& context, cache::layer& layer, const kernels::rope_table* rope,
                        const heads_shape& shape, const activations& qkv);

}  // namespace cogen::layers
