#include "network/backend/tensor/dense_attention.hpp"
#include "network/backend/tensor/heads.hpp"
#include "network/backend/tensor/tensor_operators.hpp"
#include "network/backend/tensor/token_blocks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/sigmoid.h>

#include <stdexcept>

namespace cogen::device {

namespace {

queries queries_of(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                   const token_block& which) {
  const auto part = [&](const at::Tensor& tensor) {
    return tensor.defined() ? heads_of(tensor, which, 0, shape.heads, shape) : tensor;
  };
  return {part(numbers.qkv), part(numbers.sink_q), which.slice(rows.positions).to(at::kLong)};
}

/// Quantized places hold what their positions say, behind them are those of the layer in full precision. A query reads
/// each position in one of both.
at::Tensor seen_by(const queries& query, const kept_tokens& kept, const cache::device_layer& layer) {
  const auto seen = seen_in(layer.span, query.positions, kept.positions);
  if (!layer.quantization) return seen;
  const auto limits = (query.positions + 1 - layer.quantization->residual).clamp_min(0);
  const auto ends = at::floor_divide(limits, cache::block_tokens).unsqueeze(2) * cache::block_tokens;
  const auto is_quantized = kept.positions.unsqueeze(1) < ends;
  seen.narrow(2, 0, kept.quantized).bitwise_and_(is_quantized.narrow(2, 0, kept.quantized));
  seen.slice(2, kept.quantized).bitwise_and_(~is_quantized.slice(2, kept.quantized));
  return seen;
}

/// `kept` behind the quantized tokens of the same sequences.
kept_tokens behind(const at::Tensor& keys, const at::Tensor& values, const kept_tokens& kept) {
  const auto count = keys.size(2);
  const auto positions = at::arange(count, kept.positions.options()).expand({keys.size(0), -1});
  return {at::cat({keys, kept.keys}, 2), at::cat({values, kept.values}, 2), at::cat({positions, kept.positions}, 1),
          count};
}

/// The places that a prompt's queries can see.
struct place_range {
  std::int64_t first;
  std::int64_t count;
};

place_range seen_places(const cache::device_layer& layer, const prompt_row& prompt) {
  if (layer.ring > 0) return {0, layer.keys.size(1)};
  const auto first = layer.span.sinks > 0 ? 0 : cache::first_seen(layer.span, static_cast<int>(prompt.held));
  return {first, prompt.held + prompt.count - first};
}

at::Tensor columns(const at::Tensor& tensor, const place_range& which) {
  return tensor.narrow(1, which.first, which.count);
}

}  // namespace

at::Tensor tensor_operators::quantized_tokens(const cache::device_layer&, int) const {
  throw std::invalid_argument(
      "kv.quantization is set; this device reads quantized caches only in kernels, which lack what this model's "
      "attention does");
}

std::int64_t tensor_operators::places_to_read(const at::Tensor&, std::int64_t places) const { return places; }

void tensor_operators::rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                                         const step_rows& rows, const cache::device_layer& layer) {
  const auto qkv = numbers.qkv.narrow(1, 0, shape.qkv_width());
  const auto heads = qkv.unflatten(1, {shape.qkv_heads(), shape.head_dim});
  prepare(qkv, shape, rows.positions);
  if (layer.span.sinks > 0) {
    const auto inside = rows.positions.clamp_max(layer.span.sinks + layer.span.window - 1);
    const auto q = heads.narrow(1, 0, shape.heads).to(at::kFloat);
    numbers.sink_q.narrow(1, 0, shape.heads * shape.head_dim)
        .copy_(rotated(q, turn, inside, shape.first_rotated).flatten(1));
  }
  rotate(qkv, shape, turn, rows.positions);
  if (shape.shares_kv) return;
  const slot_rows where(rows.slots);
  const auto places = places_of(layer, rows.positions);
  store(heads.narrow(1, shape.heads, shape.kv_heads), layer.keys, where, places);
  if (shape.latent_dim == 0)
    store(heads.narrow(1, shape.heads + shape.kv_heads, shape.kv_heads), layer.values, where, places);
}

void tensor_operators::attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                              const cache::device_layer& layer, const at::Tensor& out) {
  const auto values_of = [&](const at::Tensor& keys_or_values) {
    return shape.latent_dim > 0 ? keys_or_values.narrow(3, 0, shape.latent_dim) : keys_or_values;
  };
  const auto with_quantized = [&](const kept_tokens& kept, const auto& read_all) {
    if (!layer.quantization) return kept;
    const auto values = read_all(quantized_tokens(layer, shape.latent_dim > 0 ? 0 : 1));
    return behind(read_all(quantized_tokens(layer, 0)), values_of(values), kept);
  };
  for_single_rows(rows, layer.keys[0].numel(), [&](const token_block& which, const slot_rows& own) {
    const auto query = queries_of(numbers, shape, rows, which);
    const auto places = layer.ring > 0 ? layer.keys.size(1) : places_to_read(query.positions + 1, layer.keys.size(1));
    const auto newest = query.positions.squeeze(1);
    const auto read_all = [&](const at::Tensor& plane) { return tokens_of_slots(plane, own.slots); };
    const auto read = [&](const at::Tensor& plane) {
      return layer.ring > 0 ? read_all(plane) : held_tokens_of_slots(plane, own.slots, newest, places);
    };
    const auto positions = positions_in(layer, newest).narrow(1, 0, places);
    const auto kept = with_quantized({read(layer.keys), read(layer.values), positions}, read_all);
    const auto result = found(query, kept, seen_by(query, kept, layer), shape, layer.span.sinks);
    write(without_padding(result, own), which, shape, out);
  });
  for_prompts(rows, [&](const token_block& which, const prompt_row& prompt) {
    const auto query = queries_of(numbers, shape, rows, which);
    const auto places = seen_places(layer, prompt);
    const auto read = [&](const at::Tensor& plane) {
      return tokens_of_slot(plane, prompt.slot, places.first, places.count);
    };
    const auto read_all = [&](const at::Tensor& plane) { return tokens_of_slot(plane, prompt.slot, 0, plane.size(1)); };
    const auto positions = columns(positions_in(layer, query.positions.slice(1, -1).squeeze(1)), places);
    const auto kept = with_quantized({read(layer.keys), read(layer.values), positions}, read_all);
    write(found(query, kept, seen_by(query, kept, layer), shape, layer.span.sinks), which, shape, out);
  });
  if (shape.output_gate) gate_outputs(numbers, shape, out);
}

void gate_outputs(const qkv_rows& numbers, const attention_shape& shape, const at::Tensor& out) {
  out.mul_(at::sigmoid(numbers.qkv.narrow(1, shape.qkv_width(), shape.heads * shape.head_dim).to(at::kFloat)));
}

}  // namespace cogen::device
