#pragma once

#include "block_layout.hpp"

#include <cogen/detail/cache/view.hpp>
#include <cogen/extend/kv_layer.hpp>

#include <ATen/core/Tensor.h>

namespace cogen::cache {

/// Sets what every view of a layer has: shape, attention span, and where its part lies within a block.
kv_view view_over(const layer& layer, const block_part& part, std::int64_t block_stride);

/// Writes the new tokens k and v [count, kv_heads, head_dim] to positions [begin, begin + count) of the view.
void write_tokens(const kv_view& view, int begin, const at::Tensor& k, const at::Tensor& v);

/// Writes all new tokens of a reserved step, k and v [tokens, kv_heads, head_dim], through the layer's views.
void write_step(const layer& layer, const step& step, const at::Tensor& k, const at::Tensor& v);

/// Copies positions [begin, end) in full precision, in the view's type. Values that are the first dimensions of keys
/// are a view of these.
keys_values read_tokens(const kv_view& view, int begin, int end);

}  // namespace cogen::cache
