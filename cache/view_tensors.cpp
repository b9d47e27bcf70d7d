#include "view_tensors.hpp"

#include "block_layout.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace cogen::cache {
namespace {

/// Positions [begin, end) of a view that lie in one block, as tensors over the block's memory.
struct piece {
  int begin;
  int end;
  at::Tensor k;  // [kv_heads, end - begin, head_dim]
  at::Tensor v;  // [kv_heads, end - begin, value_dim]
};

/// One block's numbers [kv_heads, rows, columns].
at::Tensor plane(const kv_view& view, std::byte* data, int rows, int columns) {
  return at::from_blob(data, {view.kv_heads, rows, columns}, tensor_type(view.type));
}

piece piece_at(const kv_view& view, int begin, int end) {
  const int count = std::min(end - begin, block_tokens - begin % block_tokens);
  std::byte* block = view.block(begin / block_tokens);
  const at::Tensor keys = plane(view, block, view.head_dim, block_tokens).transpose(1, 2);
  const at::Tensor values = view.latent_dim > 0 ? keys.narrow(2, 0, view.latent_dim)
                                                : plane(view, block + view.value_offset, block_tokens, view.head_dim);
  return {.begin = begin,
          .end = begin + count,
          .k = keys.narrow(1, begin % block_tokens, count),
          .v = values.narrow(1, begin % block_tokens, count)};
}

template <class Visit>
void each_piece(const kv_view& view, int begin, int end, Visit visit) {
  while (begin < end) {
    const piece part = piece_at(view, begin, end);
    visit(part);
    begin = part.end;
  }
}

}  // namespace

kv_view view_over(const layer& layer, const block_part& part, std::int64_t block_stride) {
  return {.type = layer.type(),
          .kv_heads = layer.shape().kv_heads,
          .head_dim = layer.shape().head_dim,
          .latent_dim = layer.shape().latent_dim,
          .span = layer.span(),
          .block_stride = block_stride,
          .head_stride = part.head_stride,
          .value_offset = part.value_offset};
}

void write_tokens(const kv_view& view, int begin, const at::Tensor& k, const at::Tensor& v) {
  const at::Tensor keys = k.transpose(0, 1), values = v.transpose(0, 1);
  each_piece(view, begin, begin + static_cast<int>(k.size(0)), [&](const piece& part) {
    part.k.copy_(keys.narrow(1, part.begin - begin, part.end - part.begin));
    if (view.latent_dim == 0) part.v.copy_(values.narrow(1, part.begin - begin, part.end - part.begin));
  });
}

void write_step(const layer& layer, const step& step, const at::Tensor& k, const at::Tensor& v) {
  for (std::size_t i = 0; i < step.rows().size(); ++i) {
    const auto [slot, count, drafts] = step.rows()[i];
    const int length = layer.slots().length(slot);
    const int first = step.first(static_cast<int>(i));
    write_tokens(*layer.view(slot, length + count), length, k.narrow(0, first, count), v.narrow(0, first, count));
  }
}

keys_values read_tokens(const kv_view& view, int begin, int end) {
  keys_values result{.k = at::empty({view.kv_heads, end - begin, view.head_dim}, tensor_type(view.type)), .v = {}};
  result.v = view.latent_dim > 0 ? result.k.narrow(2, 0, view.latent_dim) : at::empty_like(result.k);
  each_piece(view, begin, end, [&](const piece& part) {
    result.k.narrow(1, part.begin - begin, part.end - part.begin).copy_(part.k);
    if (view.latent_dim == 0) result.v.narrow(1, part.begin - begin, part.end - part.begin).copy_(part.v);
  });
  return result;
}

}  // namespace cogen::cache
