#include "network/backend/tensor/dense_attention.hpp"
#include "network/backend/tensor/heads.hpp"
#include "network/backend/tensor/tensor_operators.hpp"
#include "network/backend/tensor/token_blocks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

namespace cogen::device {

namespace {

/// Positions from 0 on, of each sequence: [sequences, count].
at::Tensor positions_of(std::int64_t sequences, std::int64_t count, const at::Tensor& like) {
  return at::arange(count, like.options().dtype(at::kLong)).expand({sequences, -1});
}

}  // namespace

void tensor_operators::attend_to_encoder_input(const at::Tensor& q, const attention_shape& shape, const step_rows& rows,
                                               const cache::device_layer& layer, const at::Tensor& out) {
  const auto find = [&](const token_block& which, const at::Tensor& keys, const at::Tensor& values) {
    const auto positions = positions_of(which.sequences, keys.size(2), q);
    const queries query{heads_of(q, which, 0, shape.heads, shape), {}, which.slice(rows.positions).to(at::kLong)};
    const auto seen = positions.unsqueeze(1) < which.slice(rows.encoder_lengths).unsqueeze(2);
    return found(query, {keys, values, positions}, seen, shape);
  };
  const auto places = places_to_read(rows.encoder_lengths, layer.keys.size(1));
  for_single_rows(rows, layer.keys[0].numel(), [&](const token_block& which, const slot_rows& own) {
    const auto read = [&](const at::Tensor& plane) { return tokens_of_slots(plane.narrow(1, 0, places), own.slots); };
    write(without_padding(find(which, read(layer.keys), read(layer.values)), own), which, shape, out);
  });
  for_prompts(rows, [&](const token_block& which, const prompt_row& prompt) {
    const auto read = [&](const at::Tensor& plane) { return tokens_of_slot(plane, prompt.slot, 0, places); };
    write(find(which, read(layer.keys), read(layer.values)), which, shape, out);
  });
}

void tensor_operators::attend_within_rows(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn,
                                          const step_rows& rows, const at::Tensor& out) {
  const auto numbers = qkv.narrow(1, 0, shape.qkv_width());
  prepare(numbers, shape, rows.positions);
  rotate(numbers, shape, turn, rows.positions);
  const auto q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
  const auto attend = [&](const token_block& which) {
    const auto part = [&](std::int64_t first, std::int64_t heads) { return heads_of(qkv, which, first, heads, shape); };
    const auto positions = positions_of(which.sequences, which.count, qkv);
    const kept_tokens own{part(q_width, shape.kv_heads).transpose(1, 2),
                          part(q_width + kv_width, shape.kv_heads).transpose(1, 2), positions};
    const auto seen = seen_in(shape.within_text, positions, positions);
    write(found({part(0, shape.heads), {}, positions}, own, seen, shape), which, shape, out);
  };
  if (rows.single > 0) attend({0, rows.single, 1});
  for_prompts(rows, [&](const token_block& which, const prompt_row&) { attend(which); });
}

void tensor_operators::store_encoder_input(const at::Tensor& kv, const attention_shape& shape, const step_rows& rows,
                                           const cache::device_layer& layer) {
  const auto halves = kv.unflatten(1, {2, shape.kv_heads, shape.head_dim});
  const slot_rows where(rows.slots);
  store(halves.select(1, 0), layer.keys, where, rows.positions);
  store(halves.select(1, 1), layer.values, where, rows.positions);
}

}  // namespace cogen::device
