#pragma once

#include "block_layout.hpp"

#include <cogen/detail/cache/view.hpp>
#include <cogen/extend/kv_layer.hpp>

namespace cogen::cache {

/// Sets what every view of a layer has: shape, attention span, and where its part lies within a block.
kv_view view_over(const layer& layer, const block_part& part, std::int64_t block_stride);

/// Writes the new tokens k and v to the view's positions from `begin` on.
void write_tokens(const kv_view& view, int begin, const head_rows& k, const head_rows& v);

/// Writes all new tokens of a reserved step through the layer's views.
void write_step(const layer& layer, const step& step, const head_rows& k, const head_rows& v);

/// Copies positions [begin, end) in full precision to rows of as many tokens.
void read_tokens(const kv_view& view, int begin, int end, const head_rows& k, const head_rows& v);
keys_values read_tokens(const kv_view& view, int begin, int end);

}  // namespace cogen::cache
