#include "engine/parts/device_engine.hpp"

#include "engine/parts/checked_options.hpp"
#include "engine/parts/device_options.hpp"
#include "engine/parts/machine_memory.hpp"
#include "engine/parts/rank_agreement.hpp"
#include "engine/runner/device_runner.hpp"
#include "engine/runner/runner_memory.hpp"
#include "engine/snapshot/device_snapshot_format.hpp"
#include "network/nn/device/device_layout.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/extend/tensors.hpp>
#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>

namespace cogen::detail {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// The default with kv_quantization or sinks, which reserve room for that many new tokens in each slot, and without.
constexpr int ring_step_tokens = 512;
constexpr int device_step_tokens = 2048;

int step_tokens_of(const engine_options& options) {
  return options.batching.max_batched_tokens.value_or(options.kv.quantization || options.kv.sinks ? ring_step_tokens
                                                                                                  : device_step_tokens);
}

constexpr int rounded_up(int number, int multiple) { return (number + multiple - 1) / multiple * multiple; }

/// Stands for host memory: the device copies by itself.
std::shared_ptr<cache::transfer> host_memory_of(const engine_options& options) {
  return options.kv.offload ? std::make_shared<cache::immediate_transfer>() : nullptr;
}

/// The layout of the cache for slots of `longest` tokens and encoder inputs of `max_encoder_input`.
cache::device_options layout_of(const nn::device_model& model, const engine_options& options, int longest,
                                int max_encoder_input) {
  auto layout = nn::device_layout(model, {.slots = options.batching.slots,
                                          .max_sequence_length = longest,
                                          .kv_quantization = options.kv.quantization,
                                          .sinks = options.kv.sinks,
                                          .kv_offload = host_memory_of(options),
                                          .max_step_tokens = step_tokens_of(options),
                                          .max_rollback_tokens = options.kv.max_rollback_tokens,
                                          .max_encoder_length = max_encoder_input});
  layout.type = options.kv.dtype ? cache::tensor_type(*options.kv.dtype) : model.type();
  return layout;
}

/// Bytes of a slot for `length` tokens.
std::int64_t slot_bytes(const nn::device_model& model, std::int64_t length, cache::device_options layout) {
  layout.max_sequence_length = static_cast<int>(length);
  return cache::device_cache::slot_bytes(model.kv_cache_specs(), layout);
}

bool forgets(const cache::device_options& layout) { return layout.ring > 0 && !layout.quantization; }

/// The memory of a slot by its length. States, the encoder input, and with quantization the newest tokens in full
/// precision, are a fixed part. With a window, memory stops growing at the size of the ring and the sinks.
slot_footprint usage_of(const nn::device_model& model, const cache::device_options& layout) {
  constexpr int block = cache::block_tokens;
  if (forgets(layout)) {
    const auto blocks = rounded_up(layout.ring + (layout.sinks ? layout.sinks->sinks : 0), block) / block;
    const auto& shapes = model.kv_cache_specs();
    const auto fixed = cache::device_cache::state_bytes(shapes) + cache::device_cache::encoder_bytes(shapes, layout);
    const cache::device_options whole{.type = layout.type, .max_encoder_length = layout.max_encoder_length};
    return {.fixed = fixed,
            .block = block,
            .capped = {{.per_block = slot_bytes(model, block, whole) - fixed, .blocks = blocks}}};
  }
  const auto single = slot_bytes(model, block, layout);
  const auto two = slot_bytes(model, 2 * block, layout);
  return {.fixed = 2 * single - two, .per_block = two - single, .block = block};
}

/// The blocks in which slots get memory as their tokens come; none where all memory is allocated at the start: on
/// devices without virtual memory, for rings and tokens on the host, and where ranks share the model, which would have
/// to agree on what is refused.
std::optional<cache::block_size> blocks_of(const nn::device_model& model, const cache::device_options& layout,
                                           bool on_host) {
  const auto page_bytes = model.backend->page_bytes();
  if (page_bytes == 0 || layout.ring > 0 || on_host || model.ranks()) return std::nullopt;
  const auto block = cache::device_cache::block_of(model.kv_cache_specs(), layout, page_bytes);
  return block.tokens > 0 ? std::optional(block) : std::nullopt;
}

/// The memory of a slot by its length, in such blocks.
slot_footprint usage_in(const cache::block_size& block) {
  return {.fixed = block.exact ? 0 : block.bytes, .per_block = block.bytes, .block = block.tokens};
}

/// Bytes that all slots together take at the start, although the memory of their tokens comes later.
std::int64_t fixed_bytes(const nn::device_model& model, const cache::device_options& layout) {
  const auto& shapes = model.kv_cache_specs();
  return layout.slots * (cache::device_cache::state_bytes(shapes) + cache::device_cache::encoder_bytes(shapes, layout));
}

/// The same of a slot that is swapped out with swap_format::q8.
slot_footprint compressed(slot_footprint usage, const cache::device_options& layout, int head_dim) {
  if (layout.quantization || head_dim == 0) return usage;
  const auto shrink = [&](std::int64_t& bytes) {
    const auto run = run_of(bytes, layout.type, head_dim);
    bytes = cache::compressed_bytes({&run, 1});
  };
  shrink(usage.per_block);
  for (auto& term : usage.capped) shrink(term.per_block);
  return usage;
}

/// The most tokens, up to `most`, that fit in a slot of `bytes` bytes.
std::int64_t tokens_within(std::int64_t bytes, std::int64_t most, const nn::device_model& model,
                           const cache::device_options& layout) {
  const auto usage = usage_of(model, layout);
  if (usage.per_block == 0) return slot_bytes(model, 1, layout) <= bytes ? most : 0;
  return std::clamp<std::int64_t>((bytes - usage.fixed) / (usage.per_block / usage.block), 0, most);
}

/// Bytes of a token in one layer, for a prompt that reads an unpacked copy of its context.
std::int64_t unpacked_bytes(const nn::device_model& model, const cache::device_options& layout) {
  const bool is_read_as_it_is = layout.ring == 0 && layout.type == model.type();
  if (is_read_as_it_is || layout.sinks) return 0;
  const auto shape = cache::first_with_keys(model.kv_cache_specs());
  return 2 * std::int64_t{shape.kv_heads} * shape.head_dim * static_cast<std::int64_t>(elementSize(model.type()));
}

runner_shape shape_of(const nn::device_model& model, const cache::device_options& layout,
                      const device_runner_options& options) {
  const auto scratch = model.make_scratch(1, layout.sinks.has_value());
  return {.step_tokens = step_tokens(layout.slots, options),
          .encoder_tokens = layout.max_encoder_length,
          .logits_rows = logits_rows(layout.slots, options),
          .vocabulary = options.vocabulary,
          .scratch_bytes = scratch.bytes(),
          .hidden = scratch.x.size(1),
          .qkv = scratch.qkv.size(1),
          .attended = scratch.attended.size(1),
          .inner = scratch.gated.size(1),
          .number_bytes = static_cast<std::int64_t>(elementSize(model.type())),
          .ranks = model.collectives ? model.collectives->place().count : 1,
          .unpacked_bytes = options.batch_invariant ? 0 : unpacked_bytes(model, layout),
          .batch_invariant = options.batch_invariant};
}

/// The longest context that a prompt reads at once in slots of `length` tokens.
std::int64_t max_context(const cache::device_options& layout, std::int64_t length) {
  return forgets(layout) ? std::min<std::int64_t>(layout.ring, length) : length;
}

/// Bytes for the caches, of `on_device`. If they are in host memory, two layers of each slot must fit in those.
std::int64_t room_for(const nn::device_model& model, const engine_options& options, std::int64_t on_device) {
  if (!options.kv.offload) return options.kv.bytes.value_or(on_device);
  const auto layers = static_cast<std::int64_t>(model.kv_cache_specs().size());
  return std::min(options.kv.bytes.value_or(machine_memory() / 2), on_device / 2 * layers);
}

/// What the caches may take, and the most tokens of a slot.
struct cache_room {
  std::int64_t bytes = 0;
  int tokens = 0;
};

/// The most tokens, up to `most`, that a slot can hold within `bytes`, if it has them alone.
std::int64_t tokens_within(std::int64_t bytes, std::int64_t most, const cache::block_size& block, int slots) {
  const auto blocks = std::max<std::int64_t>(0, bytes - usage_in(block).fixed) / block.bytes;
  const auto numbered = std::numeric_limits<std::int32_t>::max() / slots / block.tokens;  // see nn::check_offsets()
  return std::min(most, std::min<std::int64_t>(blocks, numbered) * block.tokens);
}

/// Slots of `most` tokens or fewer. Where all memory is allocated at the start, as many as fit in each, unless
/// max_sequence_length is given; otherwise as many as fit in one.
cache_room room_that_fits(const nn::device_model& model, const cache::device_options& layout,
                          const engine_options& options, const device_runner_options& runner, int most) {
  const auto length = options.limits.max_sequence_length;
  const auto shape = shape_of(model, layout, runner);
  const auto on_device = model.backend->free_bytes();
  const auto block = blocks_of(model, layout, options.kv.offload);
  const auto fixed = block ? fixed_bytes(model, layout) : 0;
  const auto room = [&](auto context) {
    return room_for(model, options, on_device - runner_bytes(shape, context)) - fixed;
  };
  const auto fitting_in = [&](auto bytes) {
    return block ? tokens_within(bytes, most, *block, layout.slots)
                 : tokens_within(bytes / layout.slots, most, model, layout);
  };
  const auto free = room(max_context(layout, fitting_in(room(0))));
  const auto fitting = fitting_in(free);
  if (length > fitting || fitting == 0)
    throw std::invalid_argument(fmt::format(
        "engine_options.limits.max_sequence_length is {} with {} slots, which takes {} MiB; {}{} has {} MiB for caches",
        length.value_or(1), layout.slots,
        (block ? usage_in(*block)(length.value_or(1)) + fixed
               : slot_bytes(model, length.value_or(1), layout) * layout.slots) /
            mebibyte,
        options.kv.offload ? "the host of " : "", model.backend->name(), std::max<std::int64_t>(0, free) / mebibyte));
  return {.bytes = free, .tokens = static_cast<int>(fitting)};
}

/// Pages of at most so many bytes. `where` outlives the cache.
cache::device_pages pages_on(const device::backend& where, std::int64_t bytes) {
  return {.page_bytes = where.page_bytes(), .limit = bytes, .reserve = [&where, bytes](std::int64_t addresses) {
            return where.reserve(addresses, bytes);
          }};
}

void check_vocabulary(std::int64_t tokens, const device::backend& where) {
  if (const auto most = where.max_vocabulary(); tokens > most)
    throw std::invalid_argument(fmt::format(
        "the model's vocabulary has {} tokens; engines on {} sample from at most {}", tokens, where.name(), most));
}

/// What is saved by operators of other bits is not read.
std::string snapshot_format_of(const cache::device_options& layout, const engine_options& options,
                               const device::backend& where) {
  auto format = snapshot_format(layout, options.kv, where.name());
  if (options.batch_invariant) format += ", batch-invariant";
  return format;
}

void put_on(std::shared_ptr<const nn::device_model> held, engine_parts& parts, const model& model,
            const engine_options& options, swap_room room, const device_switches& switches) {
  const auto& place = *held;
  check_on_device(options, place);
  check_vocabulary(model.config().vocabulary, *place.backend);
  const bool endless = options.kv.sinks && !place.has_position_table();
  const int longest = length_limit(options, model.config().max_positions, endless);
  const int max_encoder_input = model.has_encoder() ? encoder_limit(options, model.config().max_positions) : 0;
  auto layout = layout_of(place, options, longest, max_encoder_input);
  const device_runner_options runner_options{.max_batched_tokens = step_tokens_of(options),
                                             .max_draft_tokens = parts.limits.max_draft_tokens,
                                             .vocabulary = static_cast<int>(model.config().vocabulary),
                                             .batch_invariant = options.batch_invariant,
                                             .recorded = switches.recorded};
  cache_room room_of_caches;
  const auto own_length = [&] {
    room_of_caches = room_that_fits(place, layout, options, runner_options, longest);
    return room_of_caches.tokens;
  };
  layout.max_sequence_length = place.ranks() ? agree_on_least(*place.ranks(), own_length) : own_length();
  parts.limits.max_sequence_length = layout.max_sequence_length;
  parts.limits.max_batched_tokens = step_tokens_of(options);
  parts.limits.max_all_logits_tokens = device_runner::max_all_logits_tokens;
  parts.limits.usage = usage_of(place, layout);
  if (layout.ring > 0) parts.limits.max_rollback_tokens = options.kv.max_rollback_tokens;
  const auto& shapes = place.kv_cache_specs();
  const bool recurrent = cache::device_cache::state_bytes(shapes) > 0;
  if (recurrent) parts.limits.max_rollback_tokens = 0;
  // A state cannot go back by a token that an overlapped step has added behind the last one.
  parts.limits.depth = switches.overlapped && !recurrent ? device_runner::max_in_flight : 1;
  if (options.swap.format == swap_format::q8)
    parts.limits.swap_usage = compressed(parts.limits.usage, layout, cache::first_with_keys(shapes).head_dim);
  if (model.has_encoder())
    parts.encoder_inputs = {.start = *model.config().decoder_start, .longest = max_encoder_input};
  if (const auto block = blocks_of(place, layout, options.kv.offload)) {
    if (!parts.limits.swap_usage) parts.limits.swap_usage = parts.limits.usage;
    parts.limits.usage = usage_in(*block);
    parts.limits.memory_bytes = room_of_caches.bytes;
    if (!options.policies.allocation) parts.allocation_policy = scheduler::watermarks();
    layout.pages = pages_on(*place.backend, room_of_caches.bytes);
  }
  if (options.kv.offload)
    layout.host = place.backend->make_host(layout.slots * cache::device_cache::slot_bytes(shapes, layout));
  auto slots = std::make_shared<device_slots>(place.backend, shapes, layout, room.bytes);
  parts.runner = std::make_unique<device_runner>(std::move(held), std::move(slots),
                                                 snapshot_format_of(layout, options, *place.backend), std::move(room),
                                                 runner_options);
}

void put_on_device(engine_parts& parts, const std::shared_ptr<const model>& model, const engine_options& options,
                   swap_room room, const device_switches& switches) {
  std::shared_ptr<const nn::device_model> place(model, model->on_device());
  place->backend->allocate([&] { put_on(place, parts, *model, options, std::move(room), switches); });
}

std::string settings_on_device(const model& model, const engine_options& options) {
  const auto& place = *model.on_device();
  const auto layout = layout_of(place, options, 1, model.has_encoder() ? 1 : 0);
  return fmt::format("{} slots, steps of {}, {} tokens to go back, caches of {}; {}", options.batching.slots,
                     step_tokens_of(options), options.kv.max_rollback_tokens,
                     snapshot_format_of(layout, options, *place.backend), model.fingerprint());
}

struct registration {
  registration() { register_device_engines({.put_on_device = put_on_device, .settings = settings_on_device}); }
};
const registration registered;

}  // namespace

}  // namespace cogen::detail

/// Programs that link cogen::torch ask for this symbol, which brings this file, and with it the registration.
extern "C" {
extern const char cogen_device_engines;
const char cogen_device_engines = 0;
}
