#include "block_layer.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

/// Tokens [begin, end) of a view that lie in one block, as tensors over the block's memory.
struct piece {
  int begin;
  int end;
  at::Tensor k;  // [kv_heads, end - begin, head_dim]
  at::Tensor v;
};

const kv_range& range_at(const kv_view& view, int position) {
  return position < view.range[0].end ? view.range[0] : view.range[1];
}

at::Tensor plane_tokens(const kv_view& view, std::byte* plane, int begin, int count) {
  const at::Tensor block = at::from_blob(plane, {view.kv_heads, block_tokens, view.head_dim}, tensor_type(view.type));
  return block.narrow(1, begin % block_tokens, count);
}

piece piece_at(const kv_view& view, int begin, int end) {
  const int count = std::min(end - begin, block_tokens - begin % block_tokens);
  std::byte* keys = range_at(view, begin).data + begin / block_tokens * view.block_stride;
  return {.begin = begin,
          .end = begin + count,
          .k = plane_tokens(view, keys, begin, count),
          .v = plane_tokens(view, keys + view.value_offset, begin, count)};
}

template <class Visit>
void each_piece(const kv_view& view, int begin, int end, Visit visit) {
  while (begin < end) {
    const piece part = piece_at(view, begin, end);
    visit(part);
    begin = part.end;
  }
}

/// [tokens, kv_heads, head_dim] -> [kv_heads, count, head_dim]
at::Tensor heads_first(const at::Tensor& tokens, int first, int count) {
  return tokens.narrow(0, first, count).transpose(0, 1);
}

}  // namespace

block_layer::block_layer(const layer_shape& shape, scalar type, const slot_table& table,
                         std::shared_ptr<block_storage> storage, const block_part& part)
    : layer(shape, type, table), storage_(std::move(storage)), part_(part) {}

void block_layer::reserve(const step& step) {
  check_room(step);
  storage_->reserve(step);
}

std::optional<kv_view> block_layer::view(int slot, int kv_length) const { return view_of(slot, kv_length); }

kv_view block_layer::view_of(int slot, int kv_length) const {
  const slot_base base = slots().base(slot);
  if (kv_length < 0 || kv_length > storage_->room(slot))
    throw std::out_of_range("cache: " + std::to_string(kv_length) + " tokens of slot " + std::to_string(slot) +
                            " are asked for, there is room for " + std::to_string(storage_->room(slot)));
  kv_view view{.type = type(),
               .kv_heads = shape().kv_heads,
               .head_dim = shape().head_dim,
               .block_stride = storage_->layout().stride,
               .head_stride = part_.head_stride,
               .value_offset = part_.value_offset};
  const auto add = [&](int of, int begin, int end) {
    if (begin < end) view.range[view.ranges++] = {storage_->slot_data(of) + part_.offset, begin, end};
  };
  add(base.slot, 0, std::min(base.length, kv_length));
  add(slot, base.length, kv_length);
  return view;
}

void block_layer::append(const step& step, const at::Tensor& k, const at::Tensor& v) {
  check_new(step, k, v);
  for (std::size_t i = 0; i < step.rows().size(); ++i) {
    const auto [slot, count] = step.rows()[i];
    const int length = slots().length(slot);
    const int first = step.first(static_cast<int>(i));
    each_piece(view_of(slot, length + count), length, length + count, [&](const piece& part) {
      part.k.copy_(heads_first(k, first + part.begin - length, part.end - part.begin));
      part.v.copy_(heads_first(v, first + part.begin - length, part.end - part.begin));
    });
  }
}

keys_values block_layer::materialise(int slot, int length) const {
  const kv_view view = view_of(slot, length);
  keys_values all{.k = at::empty({view.kv_heads, length, view.head_dim}, tensor_type(view.type)), .v = {}};
  all.v = at::empty_like(all.k);
  each_piece(view, 0, length, [&](const piece& part) {
    all.k.narrow(1, part.begin, part.end - part.begin).copy_(part.k);
    all.v.narrow(1, part.begin, part.end - part.begin).copy_(part.v);
  });
  return all;
}

void block_layer::adopt(int slot, int, int length) { storage_->adopt(slot, length); }

void block_layer::import_slot(int slot, int length, std::span<const std::byte> from) {
  storage_->import_slot(slot, length, from.data());
}

}  // namespace cogen::cache
