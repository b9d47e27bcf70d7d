#include "network/backend/tensor/token_blocks.hpp"

#include <ATen/TensorOperators.h>

namespace cogen::device {

at::Tensor heads_of(const at::Tensor& tokens, const token_block& which, std::int64_t first, std::int64_t heads,
                    const attention_shape& shape) {
  return which.slice(tokens.narrow(1, first, heads * shape.head_dim))
      .unflatten(2, {heads, shape.head_dim})
      .to(at::kFloat);
}

void write(const at::Tensor& found, const token_block& which, const attention_shape& shape, const at::Tensor& out) {
  which.slice(out.narrow(1, 0, shape.heads * shape.head_dim))
      .unflatten(2, {shape.heads, shape.head_dim})
      .narrow(3, 0, found.size(3))
      .copy_(found);
}

at::Tensor without_padding(const at::Tensor& found, const slot_rows& rows) {
  return found.masked_fill(rows.is_padding.view({-1, 1, 1, 1}), 0);
}

}  // namespace cogen::device
