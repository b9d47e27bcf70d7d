#include "engine/device_engine.hpp"

#include "engine/device_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace cogen::detail {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// What a device needs beside the caches, for what its libraries take when they first run.
constexpr std::int64_t kept_free = 512 * mebibyte;

using packing_form = std::optional<cache::device_packing>;

void refuse(const char* option, std::string_view device) {
  throw std::invalid_argument(
      fmt::format("engine_options.{} is set; engines on {} have no such caches", option, device));
}

void check_options(const engine_options& options, std::string_view device) {
  if (options.sinks) refuse("sinks", device);
  if (options.offload) refuse("offload", device);
  if (options.own_layers) refuse("own_layers", device);
  if (options.cache_type) refuse("cache_type", device);
  if (options.spill_transfer) refuse("spill_transfer", device);
  if (!options.spill_directory.empty()) refuse("spill_directory", device);
  if (options.spill_format != spill_format::exact) refuse("spill_format", device);
  if (options.numerics != numerics::exact)
    throw std::invalid_argument(fmt::format("engine_options.numerics is fast; engines on {} are exact only", device));
  if (options.slots < 1)
    throw std::invalid_argument(fmt::format("engine_options.slots is {}; it must be at least 1", options.slots));
  if (options.step_tokens < 0)
    throw std::invalid_argument(
        fmt::format("engine_options.step_tokens is {}; it may be 0 or more", options.step_tokens));
}

int step_tokens_of(const engine_options& options) {
  if (options.step_tokens > 0) return options.step_tokens;
  return options.quantised ? packing_step_tokens : device_step_tokens;
}

constexpr int rounded_up(int number, int to) { return (number + to - 1) / to * to; }

packing_form packing_of(const models::device_model& model, const engine_options& options) {
  if (!options.quantised) return std::nullopt;
  const auto* keys = options.quantised->keys->format();
  const auto* values = options.quantised->values->format();
  if (keys == nullptr || values == nullptr)
    throw std::invalid_argument(
        fmt::format("engine_options.quantised has keys {} and values {}; engines on {} have no codecs of your own",
                    options.quantised->keys->name(), options.quantised->values->name(), model.network->device().str()));
  const int residual = options.quantised->residual;
  return cache::device_packing{
      .keys = *keys,
      .values = *values,
      .residual = residual,
      .head_bytes = model.place->make_operators()->packed_head_bytes(*keys, *values,
                                                                     model.network->layer_shapes().front().head_dim),
      .places =
          rounded_up(residual + cache::block_tokens + step_tokens_of(options) + options.slack, cache::block_tokens)};
}

std::int64_t slot_bytes(const models::device_network& network, int length, const packing_form& packing) {
  return cache::device_cache::slot_bytes(
      network.layer_shapes(),
      {.device = network.device(), .type = network.type(), .max_length = length, .packing = packing});
}

/// What a slot takes by its length: the newest tokens in full precision once, where others are packed.
scheduler::footprint usage_of(const models::device_network& network, const packing_form& packing) {
  const auto one = slot_bytes(network, cache::block_tokens, packing);
  const auto two = slot_bytes(network, 2 * cache::block_tokens, packing);
  return {.fixed = 2 * one - two, .per_block = two - one, .block = cache::block_tokens};
}

/// Whole caches are taken at the start: without a length, as many tokens as fit.
int length_that_fits(const models::device_model& model, std::int64_t positions, const packing_form& packing,
                     const engine_options& options) {
  const auto& network = *model.network;
  const auto usage = usage_of(network, packing);
  const auto free = options.cache_bytes > 0 ? options.cache_bytes : model.place->free_bytes() - kept_free;
  const auto token_bytes = usage.per_block / usage.block;
  const auto fitting = std::max<std::int64_t>(0, (free / options.slots - usage.fixed) / token_bytes);
  if (options.max_length < 0 || options.max_length > positions)
    throw std::invalid_argument(
        fmt::format("engine_options.max_length is {}; this model holds {} positions", options.max_length, positions));
  if (options.max_length > fitting || fitting == 0)
    throw std::invalid_argument(
        fmt::format("engine_options.max_length is {} with {} slots, which takes {} MiB; {} has {} MiB for caches",
                    options.max_length, options.slots,
                    slot_bytes(network, std::max(1, options.max_length), packing) * options.slots / mebibyte,
                    network.device().str(), std::max<std::int64_t>(0, free) / mebibyte));
  if (options.max_length > 0) return options.max_length;
  return static_cast<int>(std::min(positions, fitting));
}

}  // namespace

void put_on_device(engine_parts& parts, const models::device_model& model, int vocabulary, std::int64_t positions,
                   const engine_options& options, const device_switches& switches) {
  check_options(options, model.network->device().str());
  const auto packing = packing_of(model, options);
  const int length = length_that_fits(model, positions, packing, options);
  const int step_tokens = step_tokens_of(options);
  auto runner = std::make_unique<device_runner>(model.place, model.network,
                                                device_runner_options{.slots = options.slots,
                                                                      .max_length = length,
                                                                      .step_tokens = step_tokens,
                                                                      .vocabulary = vocabulary,
                                                                      .packing = packing,
                                                                      .recorded = switches.recorded});
  parts.limits.slots = options.slots;
  parts.limits.reuse = options.reuse;
  parts.limits.max_length = length;
  parts.limits.step_tokens = step_tokens;
  parts.limits.usage = usage_of(*model.network, packing);
  if (packing) parts.limits.slack = options.slack;
  parts.limits.patience = options.patience;
  parts.limits.depth = switches.overlapped ? 2 : 1;
  parts.runner = std::move(runner);
}

}  // namespace cogen::detail
