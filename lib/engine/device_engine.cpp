#include "engine/device_engine.hpp"

#include "engine/device_runner.hpp"
#include "engine/machine_memory.hpp"

#include <cogen/cache/span_with_sinks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace cogen::detail {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// Device memory left free beside the caches, for what libraries allocate when they first run.
constexpr std::int64_t kept_free = 512 * mebibyte;

/// The maximum length with a cache whose size does not grow with the sequence.
constexpr std::int64_t length_of_endless = std::int64_t{1} << 30;

void refuse(const char* option, std::string_view device) {
  throw std::invalid_argument(
      fmt::format("engine_options.{} is set; engines on {} have no such caches", option, device));
}

void check_options(const engine_options& options, std::string_view device) {
  if (options.kv.layer_factory) refuse("kv.layer_factory", device);
  if (options.swap.transfer) refuse("swap.transfer", device);
  if (!options.swap.directory.empty()) refuse("swap.directory", device);
  if (options.swap.format != swap_format::exact) refuse("swap.format", device);
  if (options.compute_type != compute_type::float32)
    throw std::invalid_argument(
        fmt::format("engine_options.compute_type is int8; engines on {} compute in float32 alone", device));
  if (options.batching.slots < 1)
    throw std::invalid_argument(
        fmt::format("engine_options.batching.slots is {}; it must be at least 1", options.batching.slots));
  if (options.batching.max_batched_tokens && *options.batching.max_batched_tokens < 1)
    throw std::invalid_argument(fmt::format("engine_options.batching.max_batched_tokens is {}; it must be at least 1",
                                            *options.batching.max_batched_tokens));
}

int step_tokens_of(const engine_options& options) {
  if (options.batching.max_batched_tokens) return *options.batching.max_batched_tokens;
  return options.kv.quantization || options.kv.sinks ? ring_step_tokens : device_step_tokens;
}

constexpr int rounded_up(int number, int to) { return (number + to - 1) / to * to; }

/// The layout of the cache, except the numbers of slots and tokens.
struct cache_form {
  at::ScalarType type;
  std::optional<cache::sink_window> sinks = {};
  std::optional<cache::device_quantization> quantization = {};
  int ring = 0;       // 0: everything is kept
  bool host = false;  // the cache is in host memory
};

cache::device_quantization quantization_of(const nn::device_model& model, const cache::quantization& kv_quantization) {
  const auto* keys = kv_quantization.keys->format();
  const auto* values = kv_quantization.values->format();
  if (keys == nullptr || values == nullptr)
    throw std::invalid_argument(fmt::format(
        "engine_options.kv.quantization has keys {} and values {}; engines on {} have no codecs of your own",
        kv_quantization.keys->name(), kv_quantization.values->name(), model.network->device().str()));
  return cache::device_quantization{.keys = *keys,
                                    .values = *values,
                                    .residual = kv_quantization.residual,
                                    .head_bytes = model.backend->make_operators()->quantized_head_bytes(
                                        *keys, *values, model.network->kv_cache_specs().front().head_dim)};
}

/// The number format of keys and values: the network's own, or fp8.
at::ScalarType type_of(const nn::device_network& network, const engine_options& options) {
  if (!options.kv.dtype) return network.type();
  const auto type = cache::tensor_type(*options.kv.dtype);
  if (type != network.type() && type != at::kFloat8_e4m3fn)
    throw std::invalid_argument(fmt::format("engine_options.kv.dtype is {}; engines on {} keep {} or {}",
                                            c10::toString(type), network.device().str(), c10::toString(network.type()),
                                            c10::toString(at::kFloat8_e4m3fn)));
  if (options.kv.quantization && type != network.type())
    throw std::invalid_argument(
        "engine_options.kv.quantization and a kv.dtype of fp8 are both set; packed caches keep their "
        "newest tokens in the model's own type");
  return type;
}

/// How many tokens a query attends to in every layer; 0: all, or not the same in every layer.
int window_of(const nn::device_network& network, const std::optional<cache::sink_window>& sinks) {
  const auto window_in = [&](const cache::kv_cache_spec& shape) { return cache::span_of(shape, sinks).window; };
  const auto& shapes = network.kv_cache_specs();
  const int window = window_in(shapes.front());
  return std::ranges::all_of(shapes, [&](const auto& shape) { return window_in(shape) == window; }) ? window : 0;
}

std::int64_t most_tokens(const engine_options& options, std::int64_t positions) {
  return options.kv.sinks ? length_of_endless : positions;
}

cache_form form_of(const nn::device_model& model, std::int64_t positions, const engine_options& options) {
  if (options.kv.quantization && options.kv.sinks)
    throw std::invalid_argument(
        "engine_options.kv.quantization and kv.sinks are both set; a cache has one or the other");
  if (options.kv.offload && (options.kv.quantization || options.kv.sinks))
    throw std::invalid_argument(
        fmt::format("engine_options.kv.offload and {} are both set; engines on {} offload what keeps "
                    "every token in full precision",
                    options.kv.sinks ? "kv.sinks" : "kv.quantization", model.network->device().str()));
  const auto type = type_of(*model.network, options);
  if (options.kv.offload) return {.type = type, .host = true};
  const int new_and_cut = step_tokens_of(options) + options.kv.max_rollback_tokens;
  if (options.kv.quantization) {
    const auto quantization = quantization_of(model, *options.kv.quantization);
    return {.type = type,
            .quantization = quantization,
            .ring = rounded_up(quantization.residual + cache::block_tokens + new_and_cut, cache::block_tokens)};
  }
  const int window = window_of(*model.network, options.kv.sinks);
  if (options.kv.sinks && window == 0)
    throw std::invalid_argument(
        fmt::format("engine_options.kv.sinks is set; engines on {} have them where all layers have the same window",
                    model.network->device().str()));
  const int ring = window > 0 ? rounded_up(window + new_and_cut, cache::block_tokens) : 0;
  const auto longest = options.limits.max_sequence_length.value_or(most_tokens(options, positions));
  return {.type = type, .sinks = options.kv.sinks, .ring = ring < longest ? ring : 0};
}

/// Bytes of a slot for `length` tokens.
std::int64_t slot_bytes(const nn::device_network& network, std::int64_t length, const cache_form& form) {
  return cache::device_cache::slot_bytes(network.kv_cache_specs(), {.device = network.device(),
                                                                    .type = form.type,
                                                                    .max_sequence_length = static_cast<int>(length),
                                                                    .sinks = form.sinks,
                                                                    .quantization = form.quantization,
                                                                    .ring = form.ring});
}

bool forgets(const cache_form& form) { return form.ring > 0 && !form.quantization; }

/// The memory of a slot by its length. With quantization, the newest tokens in full precision are a fixed part. With a
/// window, memory stops growing at the size of the ring and the sinks.
scheduler::footprint usage_of(const nn::device_network& network, const cache_form& form) {
  constexpr int block = cache::block_tokens;
  if (forgets(form)) {
    const auto blocks = rounded_up(form.ring + (form.sinks ? form.sinks->sinks : 0), block) / block;
    return {.block = block,
            .capped = {{.per_block = slot_bytes(network, block, {.type = form.type}), .blocks = blocks}}};
  }
  const auto one = slot_bytes(network, block, form);
  const auto two = slot_bytes(network, 2 * block, form);
  return {.fixed = 2 * one - two, .per_block = two - one, .block = block};
}

/// The most tokens, up to `most`, that fit in a slot of `bytes` bytes.
std::int64_t tokens_within(std::int64_t bytes, std::int64_t most, const nn::device_network& network,
                           const cache_form& form) {
  if (forgets(form)) return slot_bytes(network, 1, form) <= bytes ? most : 0;
  const auto usage = usage_of(network, form);
  return std::clamp<std::int64_t>((bytes - usage.fixed) / (usage.per_block / usage.block), 0, most);
}

/// Bytes for the caches. If they are in host memory, two layers of each slot must also fit on the device.
std::int64_t room_for(const nn::device_model& model, const cache_form& form, const engine_options& options) {
  const auto on_device = model.backend->free_bytes() - kept_free;
  if (!form.host) return options.kv.bytes.value_or(on_device);
  const auto layers = static_cast<std::int64_t>(model.network->kv_cache_specs().size());
  return std::min(options.kv.bytes ? *options.kv.bytes : machine_memory() / 2, on_device / 2 * layers);
}

/// Tokens of each slot. The caches are allocated in full at the start: without max_sequence_length, as many as fit.
int length_that_fits(const nn::device_model& model, std::int64_t positions, const cache_form& form,
                     const engine_options& options) {
  const auto& network = *model.network;
  const auto most = most_tokens(options, positions);
  const auto length = options.limits.max_sequence_length;
  if (length && (*length < 1 || *length > most))
    throw std::invalid_argument(
        fmt::format("engine_options.limits.max_sequence_length is {}; this model holds {} positions", *length, most));
  const auto free = room_for(model, form, options);
  const auto fitting = tokens_within(free / options.batching.slots, most, network, form);
  if (length > fitting || fitting == 0)
    throw std::invalid_argument(fmt::format(
        "engine_options.limits.max_sequence_length is {} with {} slots, which takes {} MiB; {} has {} MiB for caches",
        length.value_or(1), options.batching.slots,
        slot_bytes(network, length.value_or(1), form) * options.batching.slots / mebibyte,
        form.host ? "the host of " + network.device().str() : network.device().str(),
        std::max<std::int64_t>(0, free) / mebibyte));
  return length.value_or(static_cast<int>(fitting));
}

}  // namespace

void put_on_device(engine_parts& parts, const nn::device_model& model, int vocabulary, std::int64_t positions,
                   const engine_options& options, const device_switches& switches) {
  check_options(options, model.network->device().str());
  const auto form = form_of(model, positions, options);
  const int length = length_that_fits(model, positions, form, options);
  const int max_batched_tokens = step_tokens_of(options);
  auto runner = std::make_unique<device_runner>(model.backend, model.network,
                                                device_runner_options{.slots = options.batching.slots,
                                                                      .max_sequence_length = length,
                                                                      .max_batched_tokens = max_batched_tokens,
                                                                      .vocabulary = vocabulary,
                                                                      .type = form.type,
                                                                      .sinks = form.sinks,
                                                                      .quantization = form.quantization,
                                                                      .ring = form.ring,
                                                                      .host = form.host,
                                                                      .recorded = switches.recorded});
  parts.limits.slots = options.batching.slots;
  parts.limits.prefix_caching = options.kv.prefix_caching;
  parts.limits.max_sequence_length = length;
  parts.limits.max_batched_tokens = max_batched_tokens;
  parts.limits.usage = usage_of(*model.network, form);
  if (form.ring > 0) parts.limits.max_rollback_tokens = options.kv.max_rollback_tokens;
  parts.limits.idle_timeout = options.policies.idle_timeout;
  parts.limits.depth = switches.overlapped ? 2 : 1;
  parts.runner = std::move(runner);
}

}  // namespace cogen::detail
