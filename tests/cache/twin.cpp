#include "twin.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace cogen::cache::test {
namespace {

const std::byte* block_of(const kv_range* ranges, int count, std::int64_t stride, std::int64_t position) {
  for (int i = 0; i < count; ++i) {
    const kv_range& range = ranges[i];
    if (position < range.begin || position >= range.end) continue;
    const std::int64_t number = position / 64;
    return range.data + (range.ring > 0 ? (number - range.first) % range.ring : number) * stride;
  }
  throw std::logic_error("no range of the view holds the position");
}

/// `v`, or the numbers of `k` that take its place.
at::Tensor values_in(const kv_cache_spec& shape, const at::Tensor& k, const at::Tensor& v) {
  return shape.latent_dim > 0 ? k.narrow(2, 0, shape.latent_dim) : v;
}

std::vector<float> state_of(const float* numbers, std::int64_t count) { return {numbers, numbers + count}; }

/// The tokens as their blocks are after quantization: both [kv_heads, length, head_dim], the first `packed`
/// changed.
at::Tensor quantized_and_not(const codec& codec, const at::Tensor& tokens, std::int64_t quantized) {
  at::Tensor result = tokens.to(at::kFloat).contiguous().clone();
  const int head_dim = static_cast<int>(result.size(2));
  std::vector<std::byte> bytes(static_cast<std::size_t>(codec.quantized_bytes(head_dim)));
  for (std::int64_t head = 0; head < result.size(0); ++head)
    for (std::int64_t begin = 0; begin < quantized; begin += 64) {
      float* block = result[head].narrow(0, begin, 64).data_ptr<float>();
      codec.quantize(block, head_dim, bytes.data());
      codec.dequantize(bytes.data(), head_dim, block);
    }
  return result;
}

at::Tensor columns(const at::Tensor& tokens, const kv_extent& extent, std::int64_t end) {
  const at::Tensor newest = tokens.narrow(1, extent.kv_offset, end - extent.kv_offset);
  return extent.sinks == 0 ? newest : at::cat({tokens.narrow(1, 0, extent.sinks), newest}, 1);
}

}  // namespace

const std::byte* key_at(const kv_view& view, std::int64_t position, int head) {
  return block_of(view.range, view.ranges, view.block_stride, position) + head * view.head_stride +
         position % 64 * bytes_of(view.type);
}

const std::byte* value_at(const kv_view& view, std::int64_t position, int head) {
  return block_of(view.range, view.ranges, view.block_stride, position) + view.value_offset + head * view.head_stride +
         position % 64 * view.head_dim * bytes_of(view.type);
}

std::vector<std::byte> bytes_in(const at::Tensor& tensor) {
  const at::Tensor rows = tensor.contiguous();
  const auto* data = static_cast<const std::byte*>(rows.data_ptr());
  return {data, data + rows.nbytes()};
}

std::vector<std::byte> key_bytes(const kv_view& view, std::int64_t position, int head) {
  std::vector<std::byte> bytes;
  const std::byte* number = key_at(view, position, head);
  for (int dim = 0; dim < view.head_dim; ++dim, number += 64 * bytes_of(view.type))
    bytes.insert(bytes.end(), number, number + bytes_of(view.type));
  return bytes;
}

twin::twin(const kind& kind, int slots, int max_sequence_length, unsigned seed)
    : cache_(kind.make(mixed_shapes(), slots, max_sequence_length)),
      random_(seed),
      lengths_(static_cast<std::size_t>(slots)),
      held_(static_cast<std::size_t>(slots)) {
  for (auto& slot : held_)
    for (int i = 0; i < cache_.layers(); ++i) {
      const auto& layer = cache_.layer(i);
      const at::Tensor none = at::empty({layer.shape().kv_heads, 0, layer.shape().head_dim}, tensor_type(layer.type()));
      slot.push_back({.tokens = {.k = none, .v = values_in(layer.shape(), none, none)}, .states = {}});
      if (layer.shape().kind == layer_kind::recurrent)
        slot.back().states[0].resize(static_cast<std::size_t>(layer.shape().state));
    }
}

at::Tensor twin::random(int tokens, const kv_cache_spec& shape) {
  const at::Tensor result = at::empty({tokens, shape.kv_heads, shape.head_dim}, at::kFloat);
  float* values = result.data_ptr<float>();
  for (std::int64_t i = 0; i < result.numel(); ++i)
    values[i] = static_cast<float>(static_cast<int>(random_())) * 0x1p-29F;
  return result;
}

void twin::append(const std::vector<step_row>& rows) {
  std::vector<step_row> later;
  std::vector<step_row> now = rows;
  for (step_row& row : now) {
    if (row.count <= cache_.max_step_tokens()) continue;
    const int left = row.count - cache_.max_step_tokens();
    later.push_back({.slot = row.slot, .count = left, .drafts = std::min(row.drafts, left - 1)});
    row = {.slot = row.slot, .count = cache_.max_step_tokens()};
  }
  step_once(now);
  if (!later.empty()) append(later);
}

void twin::step_once(const std::vector<step_row>& rows) {
  const step step(rows);
  cache_.reserve(step);
  for (int i = 0; i < cache_.layers(); ++i)
    cache_.layer(i).shape().kind == layer_kind::recurrent ? append_states(step, i) : append_tokens(step, i);
  cache_.advance(step);
  for (const step_row& row : rows) lengths_[static_cast<std::size_t>(row.slot)] += row.count;
}

void twin::append_tokens(const step& step, int index) {
  auto& layer = cache_.layer(index);
  const at::Tensor k = random(step.tokens(), layer.shape());
  const at::Tensor v = values_in(layer.shape(), k, random(step.tokens(), layer.shape()));
  cogen::cache::append(layer, step, k, v);
  for (std::size_t row = 0; row < step.rows().size(); ++row) {
    const auto grown = [&](const at::Tensor& old, const at::Tensor& added) {
      const at::Tensor mine = added.narrow(0, step.first(static_cast<int>(row)), step.rows()[row].count);
      return at::cat({old, mine.transpose(0, 1).to(old.scalar_type())}, 1);
    };
    kv_tensors& tokens = held(step.rows()[row].slot, index).tokens;
    tokens = {.k = grown(tokens.k, k), .v = grown(tokens.v, v)};
  }
}

void twin::append_states(const step& step, int index) {
  const auto& layer = cache_.layer(index);
  for (const step_row& row : step.rows()) {
    auto& states = held(row.slot, index).states;
    std::vector<float> mine = states.at(length(row.slot));
    for (int draft = 0; draft <= row.drafts; ++draft) {
      const state_view state = *layer.state(row.slot, draft);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        const float added = static_cast<float>(static_cast<int>(random_())) * 0x1p-29F;
        state.next[i] = state.previous[i] * 0.5F + added;
        mine[i] = mine[i] * 0.5F + added;
      }
      states[length(row.slot) + row.count - row.drafts + draft] = mine;
    }
  }
}

twin::memory twin::first_tokens(int slot, int layer, int length) const {
  const memory& whole = held(slot, layer);
  memory first;
  if (cache_.layer(layer).shape().kind == layer_kind::recurrent) {
    first.states = {whole.states.begin(), whole.states.upper_bound(length)};
    first.tokens = whole.tokens;
  } else {
    first.tokens = {.k = whole.tokens.k.narrow(1, 0, length), .v = whole.tokens.v.narrow(1, 0, length)};
  }
  return first;
}

void twin::hold_first(int slot, int source, int length) {
  for (int layer = 0; layer < cache_.layers(); ++layer) held(slot, layer) = first_tokens(source, layer, length);
  lengths_[static_cast<std::size_t>(slot)] = length;
}

void twin::truncate(int slot, int length) {
  cache_.truncate(slot, length);
  hold_first(slot, slot, length);
}

void twin::clear(int slot) {
  cache_.clear(slot);
  hold_first(slot, slot, 0);
}

void twin::copy(int source, int target, int begin, int end) {
  cache_.copy(source, target, begin, end);
  for (int layer = 0; layer < cache_.layers(); ++layer) {
    if (cache_.layer(layer).shape().kind == layer_kind::recurrent) {
      held(target, layer) = first_tokens(source, layer, end);
      continue;
    }
    const auto join = [&](const at::Tensor& kept, const at::Tensor& copied) {
      return at::cat({kept.narrow(1, 0, begin), copied.narrow(1, begin, end - begin)}, 1);
    };
    kv_tensors& output = held(target, layer).tokens;
    const kv_tensors& encoder_input = held(source, layer).tokens;
    output = {.k = join(output.k, encoder_input.k), .v = join(output.v, encoder_input.v)};
  }
  lengths_[static_cast<std::size_t>(target)] = end;
}

void twin::share_prefix(int slot, int source, int length) {
  cache_.share_prefix(slot, source, length);
  hold_first(slot, source, length);
}

void twin::fork(int slot, int source, int shared, int length) {
  cache_.fork({.slot = slot, .parent = shared > 0 ? source : -1, .shared = shared, .source = source, .end = length});
  hold_first(slot, source, length);
}

void twin::move(int source, int target) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache_.exported_bytes(length(source))));
  cache_.export_slot(source, bytes);
  cache_.import_slot(target, length(source), bytes);
  hold_first(target, source, length(source));
}

void twin::check() const {
  for (int slot = 0; slot < cache_.slots(); ++slot) {
    BOOST_TEST_REQUIRE(cache_.length(slot) == length(slot));
    for (int layer = 0; layer < cache_.layers(); ++layer) check_layer(slot, layer);
  }
}

/// All tokens of the slot as queries read them, in float32: quantized ones dequantized.
kv_tensors twin::seen(int slot, int layer) const {
  const kv_tensors& tokens = held(slot, layer).tokens;
  const auto view = cache_.layer(layer).view(slot, length(slot));
  if (!view || view->quantized.keys.quantizer == nullptr)
    return {.k = tokens.k.to(at::kFloat), .v = tokens.v.to(at::kFloat)};
  const std::int64_t quantized = quantized_tokens(length(slot), view->quantized.residual);
  const at::Tensor k = quantized_and_not(*view->quantized.keys.quantizer, tokens.k, quantized);
  if (view->latent_dim > 0) return {.k = k, .v = k.narrow(2, 0, view->latent_dim)};
  return {.k = k, .v = quantized_and_not(*view->quantized.values.quantizer, tokens.v, quantized)};
}

void twin::check_layer(int slot, int index) const {
  BOOST_TEST_CONTEXT("slot " << slot << ", layer " << index) {
    const auto& layer = cache_.layer(index);
    if (layer.shape().kind == layer_kind::recurrent) {
      if (length(slot) == 0) return;
      const float* now = layer.state(slot)->previous;
      BOOST_TEST_REQUIRE((state_of(now, layer.shape().state) == held(slot, index).states.at(length(slot))));
      return;
    }
    const kv_tensors expected = seen(slot, index);
    const kv_extent extent = layer.mask_sizes(slot, 0);
    const kv_tensors got = tensors_of(layer.to_dense(slot, length(slot)));
    BOOST_TEST_REQUIRE(got.k.size(1) == extent.kv_length);
    BOOST_TEST_REQUIRE(at::equal(got.k, columns(expected.k, extent, length(slot))));
    BOOST_TEST_REQUIRE(at::equal(got.v, columns(expected.v, extent, length(slot))));
    if (const auto view = layer.view(slot, length(slot))) check_view(*view, extent, held(slot, index).tokens);
  }
}

void twin::check_view(const kv_view& view, const kv_extent& extent, const kv_tensors& tokens) const {
  const int end = static_cast<int>(tokens.k.size(1));
  const int quantized =
      view.quantized.keys.quantizer == nullptr ? 0 : static_cast<int>(quantized_tokens(end, view.quantized.residual));
  const auto row = static_cast<std::size_t>(view.head_dim * bytes_of(view.type));
  const auto check_position = [&](int position) {
    for (int head = 0; head < view.kv_heads; ++head) {
      BOOST_TEST_REQUIRE((key_bytes(view, position, head) == bytes_in(tokens.k[head][position])));
      if (view.latent_dim > 0) continue;
      const std::byte* value = value_at(view, position, head);
      BOOST_TEST_REQUIRE(std::memcmp(value, bytes_in(tokens.v[head][position]).data(), row) == 0);
    }
  };
  for (int position = 0; position < extent.sinks; ++position) check_position(position);
  for (int position = std::max(quantized, extent.kv_offset); position < end; ++position) check_position(position);
  if (quantized > 0) check_quantized(view, quantized, extent.kv_offset, tokens);
}

void twin::check_quantized(const kv_view& view, int end, int start, const kv_tensors& tokens) const {
  const quantized_view& quantized = view.quantized;
  const auto check_plane = [&](const codec& codec, const at::Tensor& block, const std::byte* got) {
    std::vector<std::byte> wanted(static_cast<std::size_t>(codec.quantized_bytes(view.head_dim)));
    const at::Tensor values = block.to(at::kFloat).contiguous();
    codec.quantize(values.const_data_ptr<float>(), view.head_dim, wanted.data());
    BOOST_TEST_REQUIRE(std::memcmp(got, wanted.data(), wanted.size()) == 0);
  };
  for (int begin = start / 64 * 64; begin < end; begin += 64) {
    const std::byte* block =
        block_of(quantized.range, quantized.ranges, quantized.block_stride, std::max(begin, start));
    for (int head = 0; head < view.kv_heads; ++head) {
      check_plane(*quantized.keys.quantizer, tokens.k[head].narrow(0, begin, 64), block + head * quantized.key_bytes);
      if (view.latent_dim == 0)
        check_plane(*quantized.values.quantizer, tokens.v[head].narrow(0, begin, 64),
                    block + quantized.value_offset + head * quantized.value_bytes);
    }
  }
}

}  // namespace cogen::cache::test
