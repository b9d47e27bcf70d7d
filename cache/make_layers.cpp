#include "make_layers.hpp"

#include "block_storage.hpp"
#include "offloaded_layer.hpp"
#include "quantized_layer.hpp"
#include "ring_storage.hpp"
#include "state_layer.hpp"
#include "stored_layer.hpp"

#include <cogen/cache/span_with_sinks.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

constexpr int max_dynamic_tokens = 1 << 20;
constexpr std::int64_t max_dynamic_addresses = std::int64_t{1} << 44;
constexpr int max_length = std::numeric_limits<int>::max() - 2 * block_tokens;

/// Layers that share memory.
struct group {
  std::vector<kv_cache_spec> shapes;
  std::vector<std::size_t> indices;
};

bool is_ring(const attention_span& span) { return span.window > 0 || span.chunk > 0; }

bool keeps_everything(const kv_cache_spec& shape, const options& options) {
  return shape.kind == layer_kind::full && !options.sinks;
}

bool together(const kv_cache_spec& a, const kv_cache_spec& b) { return a.kind == b.kind && a.window == b.window; }

std::vector<group> groups_of(std::span<const kv_cache_spec> shapes, const std::vector<std::unique_ptr<layer>>& layers,
                             bool each_alone) {
  std::vector<group> groups;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (layers[i]) continue;
    const auto fits = [&](const group& other) { return !each_alone && together(other.shapes.front(), shapes[i]); };
    auto found = std::find_if(groups.begin(), groups.end(), fits);
    if (found == groups.end()) found = groups.insert(groups.end(), group{});
    found->shapes.push_back(shapes[i]);
    found->indices.push_back(i);
  }
  return groups;
}

int tokens_by_addresses(std::span<const kv_cache_spec> shapes, const options& options) {
  std::int64_t stride = 0;
  for (const kv_cache_spec& shape : shapes)
    if (keeps_everything(shape, options) || (shape.kind == layer_kind::cross && options.max_encoder_length == 0))
      stride += lay_out({&shape, 1}, options.type).stride;
  if (stride == 0) return max_length;
  const std::int64_t blocks = max_dynamic_addresses / options.slots / stride;
  return static_cast<int>(std::clamp<std::int64_t>(blocks, 1, max_dynamic_tokens / block_tokens)) * block_tokens;
}

/// The most tokens of a slot: as declared, as addresses allow, or no bound if none is needed.
int bound_of(std::span<const kv_cache_spec> shapes, const options& options) {
  if (options.sinks) return max_length;
  if (options.max_sequence_length > 0) return options.max_sequence_length;
  return tokens_by_addresses(shapes, options);
}

/// Makes the layers of one group over shared memory.
class layer_maker {
 public:
  layer_maker(const options& options, const slot_tables& tables, int max_sequence_length)
      : options_(options), tables_(tables), max_sequence_length_(max_sequence_length) {}

  std::vector<std::unique_ptr<layer>> layers_of(const group& group) const {
    switch (group.shapes.front().kind) {
      case layer_kind::recurrent:
        return recurrent(group.shapes);
      case layer_kind::cross:
        return cross(group.shapes);
      default:
        return options_.kv_quantization ? kv_quantization(group.shapes) : plain(group.shapes);
    }
  }

 private:
  std::vector<std::unique_ptr<layer>> recurrent(std::span<const kv_cache_spec> shapes) const {
    const auto storage = std::make_shared<state_storage>(shapes, tables_.slots, options_.max_recurrent_drafts);
    std::vector<std::unique_ptr<layer>> layers;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      layers.push_back(std::make_unique<state_layer>(shapes[i], tables_.slots, storage, i));
    return layers;
  }

  std::vector<std::unique_ptr<layer>> cross(std::span<const kv_cache_spec> shapes) const {
    return stored(
        shapes, tables_.encoder_inputs,
        std::make_shared<block_storage>(lay_out(shapes, options_.type), tables_.encoder_inputs, max_encoder_input()));
  }

  std::vector<std::unique_ptr<layer>> plain(std::span<const kv_cache_spec> shapes) const {
    const attention_span span = span_of(shapes.front(), options_.sinks);
    block_layout layout = lay_out(shapes, options_.type);
    if (!is_ring(span))
      return stored(shapes, tables_.slots,
                    std::make_shared<block_storage>(std::move(layout), tables_.slots, max_sequence_length_));
    return stored(
        shapes, tables_.slots,
        std::make_shared<ring_storage>(std::move(layout), tables_.slots, max_sequence_length_, ring_of(span)));
  }

  std::vector<std::unique_ptr<layer>> stored(std::span<const kv_cache_spec> shapes, const slot_table& table,
                                             const std::shared_ptr<token_storage>& storage) const {
    std::vector<std::unique_ptr<layer>> layers;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      layers.push_back(std::make_unique<stored_layer>(
          shapes[i], options_.type, table, span_of(shapes[i], options_.sinks), storage, storage->layout().parts[i]));
    return layers;
  }

  std::vector<std::unique_ptr<layer>> kv_quantization(std::span<const kv_cache_spec> shapes) const {
    const attention_span span = span_of(shapes.front(), options_.sinks);
    ring_shape newest = ring_of(span);
    newest.newest = options_.kv_quantization->residual;
    const auto storage = std::make_shared<quantized_storage>(quantized_storage{
        .quantized = quantized_storage_of(shapes, span),
        .newest =
            std::make_shared<ring_storage>(lay_out(shapes, options_.type), tables_.slots, max_sequence_length_, newest),
        .scheme = *options_.kv_quantization});
    std::vector<std::unique_ptr<layer>> layers;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      layers.push_back(std::make_unique<quantized_layer>(shapes[i], options_.type, tables_.slots, span, storage,
                                                         storage->quantized->layout().parts[i],
                                                         storage->newest->layout().parts[i]));
    return layers;
  }

  int max_encoder_input() const {
    if (options_.max_encoder_length > 0) return options_.max_encoder_length;
    return options_.max_sequence_length > 0 ? options_.max_sequence_length : max_sequence_length_;
  }

  std::shared_ptr<token_storage> quantized_storage_of(std::span<const kv_cache_spec> shapes,
                                                      const attention_span& span) const {
    const quantization& scheme = *options_.kv_quantization;
    block_layout layout = lay_out(shapes, *scheme.keys, *scheme.values);
    if (is_ring(span))
      return std::make_shared<ring_storage>(std::move(layout), tables_.slots, max_sequence_length_, ring_of(span),
                                            scheme.residual);
    return std::make_shared<block_storage>(std::move(layout), tables_.slots, max_sequence_length_, scheme.residual);
  }

  ring_shape ring_of(const attention_span& span) const {
    return {
        .span = span, .max_step_tokens = options_.max_step_tokens, .max_rollback_tokens = options_.max_rollback_tokens};
  }

  const options& options_;
  const slot_tables& tables_;
  int max_sequence_length_;
};

std::int64_t device_block_bytes(std::span<const kv_cache_spec> shapes, const options& options) {
  std::int64_t most = 0;
  for (const kv_cache_spec& shape : shapes) {
    if (!keeps_everything(shape, options)) continue;
    const block_layout layout =
        options.kv_quantization ? lay_out({&shape, 1}, *options.kv_quantization->keys, *options.kv_quantization->values)
                                : lay_out({&shape, 1}, options.type);
    most = std::max(most, layout.stride);
  }
  return most;
}

void put_behind(std::span<const kv_cache_spec> shapes, const options& options, int max_sequence_length,
                std::vector<std::unique_ptr<layer>>& layers, const std::vector<bool>& own) {
  const std::int64_t block_bytes = device_block_bytes(shapes, options);
  if (block_bytes == 0) return;
  const auto prefetcher = std::make_shared<layer_prefetcher>(options.kv_offload, options.slots,
                                                             blocks_for(max_sequence_length), block_bytes);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (!own[i] && keeps_everything(shapes[i], options))
      layers[i] = std::make_unique<offloaded_layer>(std::move(layers[i]), prefetcher);
}

void check_option(int least, const char* name, int value) {
  if (value < least)
    throw std::invalid_argument(std::string("cache: ") + name + " is " + std::to_string(value) + ", below " +
                                std::to_string(least));
}

void check_quantized(const quantization& scheme) {
  if (!scheme.keys || !scheme.values)
    throw std::invalid_argument("cache: kv_quantization needs a codec for keys and for values");
  check_option(0, "kv_quantization.residual", scheme.residual);
}

void check_sinks(const options& options) {
  check_option(0, "sinks.sinks", options.sinks->sinks);
  check_option(1, "sinks.window", options.sinks->window);
  if (options.sinks->sinks > block_tokens)
    throw std::invalid_argument("cache: sinks.sinks is " + std::to_string(options.sinks->sinks) + ", above " +
                                std::to_string(block_tokens));
  if (options.kv_quantization)
    throw std::invalid_argument("cache: sinks and kv_quantization are both set, a cache has one or the other");
}

void check_bounds(std::span<const kv_cache_spec> shapes, const options& options) {
  if (options.max_sequence_length > 0) return;
  const bool bound_needed = options.kind == cache_kind::static_;
  for (const kv_cache_spec& shape : shapes) {
    if (bound_needed && keeps_everything(shape, options))
      throw std::invalid_argument("cache: max_sequence_length is 0, the static kind needs a bound");
    if ((bound_needed || options.sinks) && shape.kind == layer_kind::cross && options.max_encoder_length == 0)
      throw std::invalid_argument(
          "cache: max_encoder_length is 0 and so is max_sequence_length, encoder inputs need a bound");
  }
}

}  // namespace

void check(std::span<const kv_cache_spec> shapes, const options& options) {
  if (shapes.empty()) throw std::invalid_argument("cache: 0 layers, at least 1 is needed");
  for (const kv_cache_spec& shape : shapes) check(shape);
  if (options.kind != cache_kind::dynamic && options.kind != cache_kind::static_)
    throw std::invalid_argument("cache: unknown cache kind " + std::to_string(static_cast<int>(options.kind)));
  if (options.type == scalar::fp8)
    throw std::invalid_argument("cache: type is fp8, which only caches on a device keep");
  check_option(0, "max_sequence_length", options.max_sequence_length);
  check_option(1, "max_step_tokens", options.max_step_tokens);
  check_option(0, "max_rollback_tokens", options.max_rollback_tokens);
  check_option(0, "max_recurrent_drafts", options.max_recurrent_drafts);
  check_option(0, "max_encoder_length", options.max_encoder_length);
  if (options.kv_quantization) check_quantized(*options.kv_quantization);
  if (options.sinks) check_sinks(options);
  check_bounds(shapes, options);
}

std::vector<std::unique_ptr<layer>> make_layers(std::span<const kv_cache_spec> shapes, const options& options,
                                                const slot_tables& tables, const layer_factory& own) {
  std::vector<std::unique_ptr<layer>> layers(shapes.size());
  std::vector<bool> theirs(shapes.size(), false);
  if (own)
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const slot_table& table = shapes[i].kind == layer_kind::cross ? tables.encoder_inputs : tables.slots;
      layers[i] = own(static_cast<int>(i), shapes[i], table);
      theirs[i] = layers[i] != nullptr;
    }
  const int max_sequence_length = bound_of(shapes, options);
  const layer_maker maker(options, tables, max_sequence_length);
  for (const group& each : groups_of(shapes, layers, options.kind == cache_kind::dynamic)) {
    auto group_layers = maker.layers_of(each);
    for (std::size_t i = 0; i < group_layers.size(); ++i) layers[each.indices[i]] = std::move(group_layers[i]);
  }
  if (options.kv_offload) put_behind(shapes, options, max_sequence_length, layers, theirs);
  return layers;
}

}  // namespace cogen::cache
