#include "network/backend/reference/reference_operators.hpp"

#include "formats/checkpoint/quantized_blocks.hpp"
#include "sampling/described_sampling.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace cogen::device {

namespace {

std::vector<std::int64_t> numbers_of(const at::Tensor& tensor) {
  const auto values = tensor.to(at::kCPU, at::kLong).contiguous();
  return {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()};
}

std::int64_t quantized_before(const cache::device_layer& layer, std::int64_t length) {
  return cache::quantized_tokens(length, layer.quantization->residual);
}

/// What was sent as bytes.
template <class T>
std::vector<T> as_sent(const at::Tensor& bytes) {
  const auto here = bytes.to(at::kCPU).contiguous();
  std::vector<T> values(here.nbytes() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), here.const_data_ptr(), here.nbytes());
  return values;
}

/// The quantized blocks of all slots, as numbers: [slots, blocks, 64, kv_heads, head_dim] float32, a view.
at::Tensor unquantized(const cache::device_layer& layer, int plane) {
  const auto& blocks = layer.quantized;
  return blocks.view(at::kFloat)
      .unflatten(3, {2, cache::block_tokens, layer.keys.size(3)})
      .select(3, plane)
      .transpose(2, 3);
}

/// Block `block` of a slot becomes what its codec makes of it.
void quantize_block(const cache::device_layer& layer, std::int64_t slot, std::int64_t block) {
  const auto head_dim = static_cast<int>(layer.keys.size(3));
  const bool has_values = layer.values.size(3) == layer.keys.size(3);
  for (int plane = 0; plane < (has_values ? 2 : 1); ++plane) {
    const auto codec = cache::make_group_codec(plane == 0 ? layer.quantization->keys : layer.quantization->values);
    std::vector<std::byte> bytes(static_cast<std::size_t>(codec->quantized_bytes(head_dim)));
    const auto& rows = plane == 0 ? layer.keys : layer.values;
    for (std::int64_t head = 0; head < rows.size(2); ++head) {
      const auto stored = rows.select(0, slot).narrow(0, layer.place_of(block * 64), 64).select(1, head);
      const auto numbers = stored.to(at::kFloat, false, true).contiguous();  // a copy: what is stored stays as it is
      codec->quantize(numbers.const_data_ptr<float>(), head_dim, bytes.data());
      codec->dequantize(bytes.data(), head_dim, numbers.mutable_data_ptr<float>());
      unquantized(layer, plane).select(0, slot).select(0, block).select(1, head).copy_(numbers);
    }
  }
}

/// What codes stand for, without scales.
at::Tensor values_of(const at::Tensor& codes, const kernels::packed_form& form) {
  if (!form.e2m1) return codes.to(at::kFloat) - form.middle();
  const auto halves = at::tensor(at::ArrayRef<std::int8_t>(e2m1_halves), codes.device());
  return at::index_select(halves, 0, codes.flatten().to(at::kInt)).view(codes.sizes()).to(at::kFloat) * 0.5;
}

/// values [rows, columns] times scales [rows, groups, 1], or plus the zeros that follow these
at::Tensor of_groups(const at::Tensor& values, const at::Tensor& scales) {
  auto groups = values.unflatten(1, {scales.size(1), -1}) * scales.narrow(2, 0, 1);
  if (scales.size(2) == 2) groups = groups + scales.narrow(2, 1, 1);
  return groups.flatten(1);
}

}  // namespace

std::int64_t reference_operators::quantized_head_bytes(const cache::group_format&, const cache::group_format&,
                                                       std::int64_t head_dim) {
  return 2 * 64 * head_dim * static_cast<std::int64_t>(sizeof(float));
}

cache::quantized_head reference_operators::quantized_head_numbers(const cache::group_format&,
                                                                  const cache::group_format&,
                                                                  std::int64_t head_dim) const {
  const cache::exported_run plane{.bytes = 64 * head_dim * static_cast<std::int64_t>(sizeof(float)),
                                  .type = cache::scalar::f32,
                                  .dims = static_cast<int>(head_dim)};
  return {{plane}, {plane}};
}

at::Tensor reference_operators::weights_of(const projection& linear, std::int64_t) const {
  if (!linear.scales.defined()) return linear.weights;
  const auto codes = values_of(linear.weights, kernels::form_of(linear.packing)), scales = linear.scales.to(at::kFloat);
  const auto numbers = kernels::has_groups(linear.packing) ? of_groups(codes, scales) : codes * scales.unsqueeze(1);
  return numbers.to(linear.scales.scalar_type());
}

at::Tensor reference_operators::quantized_tokens(const cache::device_layer& layer, int plane) const {
  return unquantized(layer, plane).flatten(1, 2);
}

/// So that bits do not depend on the room of slots.
std::int64_t reference_operators::places_to_read(const at::Tensor& lengths, std::int64_t places) const {
  const auto needed = numbers_of(lengths);
  return std::clamp<std::int64_t>(*std::ranges::max_element(needed), 1, places);
}

/// Then quantizes the blocks that become due.
void reference_operators::rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                                            const step_rows& rows, const cache::device_layer& layer) {
  tensor_operators::rotate_and_append(numbers, shape, turn, rows, layer);
  if (!layer.quantization || shape.shares_kv) return;
  const auto slots = numbers_of(rows.slots);
  const auto positions = numbers_of(rows.positions);
  for (std::size_t token = 0; token < slots.size(); ++token) {
    if (slots[token] < 0) continue;
    const auto quantized = quantized_before(layer, positions[token] + 1);
    if (quantized > quantized_before(layer, positions[token])) quantize_block(layer, slots[token], quantized / 64 - 1);
  }
}

void reference_operators::sample(const at::Tensor& logits, const step_sampling& params, const at::Tensor& last,
                                 const step_samples& samples) {
  const auto rows = as_sent<sampling_row>(params.rows);
  const sampling_lists lists{as_sent<token_bias>(params.biases), as_sent<token_count>(params.counts),
                             as_sent<std::uint64_t>(params.masks)};
  const auto put = [](const at::Tensor& tensor, std::int64_t row, auto value) { tensor.select(0, row).fill_(value); };
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    const auto& sampling = rows[static_cast<std::size_t>(row)];
    const bool scores_only = sampling.scored >= 0;
    if (sampling.by_host || (sampling.slot < 0 && !scores_only)) continue;
    const auto here = logits.select(0, row).to(at::kCPU).contiguous();
    const auto* scores = here.const_data_ptr<float>();
    const token kept = scores_only ? -1 : last.select(0, sampling.slot).item<token>();
    auto [status, sampled] = described_sampling(sampling, lists)({scores, scores + here.numel()}, kept);
    put(samples.tokens, row, sampled.id);
    put(samples.statuses, row, static_cast<std::uint8_t>(status));
    put(samples.logprobs, row, sampled.logprob);
    if (!scores_only) put(last, sampling.slot, sampled.id);
    sampled.top.resize(sampling.top.count, {-1, 0});
    if (sampled.top.empty()) continue;
    constexpr auto size = static_cast<std::int64_t>(sizeof(token_logprob));
    samples.top.narrow(0, sampling.top.begin * size, sampling.top.count * size)
        .copy_(at::from_blob(sampled.top.data(), {sampling.top.count * size}, at::kByte));
  }
}

}  // namespace cogen::device
