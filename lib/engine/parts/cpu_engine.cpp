#include "engine/parts/cpu_engine.hpp"

#include "engine/parts/checked_options.hpp"
#include "engine/parts/machine_memory.hpp"
#include "engine/runner/model_runner.hpp"
#include "engine/snapshot/snapshot_format.hpp"
#include "network/model/model_outline.hpp"
#include "network/model/text_encoder.hpp"

#include <cogen/engine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace cogen {

namespace detail {

namespace {

std::int64_t cache_budget(const engine_options& options) { return options.kv.bytes.value_or(machine_memory() / 2); }

/// The number format of the weights, for keys and values. For quantized weights float16, which has three more bits of
/// precision than bfloat16.
cache::scalar cache_type_of(const model& model) {
  if (model.weight_type() == "f32") return cache::scalar::f32;
  if (model.weight_type() == "bf16") return cache::scalar::bf16;
  return cache::scalar::f16;
}

/// The options alone do not determine the maximum length: the caller's own layers may need every position.
int length_with(const cache::cache& cache, const model& model, const engine_options& options) {
  const auto most = static_cast<int>(std::min<std::int64_t>(model.max_sequence_length(cache), length_of_endless));
  if (options.limits.max_sequence_length > most)
    throw std::invalid_argument(
        fmt::format("engine_options.limits.max_sequence_length is {}; with this cache the model holds {} positions",
                    *options.limits.max_sequence_length, most));
  return most;
}

/// Token budgets: of steps that running streams wait for, and of steps that only prefill.
struct step_sizes {
  int awaited;
  int prefill;
};

step_sizes max_batched_tokens(const engine_options& options) {
  const auto tokens = options.batching.max_batched_tokens;
  return tokens ? step_sizes{*tokens, *tokens} : step_sizes{128, 256};
}

/// Spare slots take address space; they take memory only for the tokens that they keep.
int spare_slots(const engine_options& options) {
  return std::min(options.batching.slots, std::numeric_limits<int>::max() - options.batching.slots);
}

/// Null: nothing is offloaded.
std::shared_ptr<cache::transfer> offload_of(const engine_options& options) {
  if (!options.kv.offload) return nullptr;
  if (options.kv.transfer) return options.kv.transfer;
  if (options.external_stepping) return std::make_shared<cache::immediate_transfer>();
  return std::make_shared<cache::worker_transfer>();
}

cache::options cache_options(const model& model, const engine_options& options) {
  cache::options kept;
  kept.type = options.kv.dtype.value_or(cache_type_of(model));
  kept.slots = options.batching.slots + spare_slots(options);
  kept.max_sequence_length = length_limit(options, model.config().max_positions, options.kv.sinks.has_value());
  if (model.has_encoder()) kept.max_encoder_length = encoder_limit(options, model.config().max_positions);
  kept.kv_quantization = options.kv.quantization;
  kept.sinks = options.kv.sinks;
  kept.kv_offload = offload_of(options);
  kept.max_step_tokens = max_batched_tokens(options).prefill;
  kept.max_rollback_tokens = options.kv.max_rollback_tokens;
  kept.max_recurrent_drafts =
      options.kv.max_recurrent_drafts.value_or(std::min<int>(model.predicts_tokens(), options.kv.max_rollback_tokens));
  return kept;
}

/// One of the states that a slot has, and its rings.
slot_footprint checkpoint_usage_of(slot_footprint slot, int states) {
  slot.fixed = (slot.fixed + states - 1) / states;
  slot.per_block = 0;
  return slot;
}

/// A checkpoint of a 32nd of the weights takes less than a fiftieth of the time in which 128 tokens are read.
int checkpoint_interval(const model& model, std::int64_t checkpoint_bytes) {
  constexpr int least = 128, most = 1 << 20;
  constexpr std::int64_t most_of_weights = 32;
  int interval = least;
  while (interval < most && checkpoint_bytes * most_of_weights / (interval / least) > model.weight_bytes())
    interval *= 2;
  return interval;
}

}  // namespace

void put_on_cpu(engine_parts& parts, const std::shared_ptr<const model>& model, const engine_options& options,
                swap_room room) {
  check_on_cpu(options);
  const auto kept = cache_options(*model, options);
  const auto slots = std::make_shared<cpu_slots>(model->make_cache(kept, options.kv.layer_factory));
  const auto& cache = slots->kv;
  parts.limits.spare_slots = spare_slots(options);
  parts.limits.max_sequence_length = length_with(cache, *model, options);
  parts.limits.max_batched_tokens = max_batched_tokens(options).awaited;
  parts.limits.prefill_tokens = max_batched_tokens(options).prefill;
  parts.limits.memory_bytes = cache_budget(options);
  parts.limits.usage = cache.footprint_terms();
  parts.limits.max_rollback_tokens = cache.max_rollback_tokens();
  parts.limits.max_dropped_drafts = cache.max_dropped_drafts();
  parts.limits.checkpoint_bytes = options.kv.checkpoint_bytes.value_or(machine_memory() / 16);
  parts.limits.checkpoint_usage = checkpoint_usage_of(parts.limits.usage, 2 + kept.max_recurrent_drafts);
  parts.limits.checkpoint_interval = options.kv.checkpoint_interval.value_or(
      checkpoint_interval(*model, parts.limits.checkpoint_usage(parts.limits.max_sequence_length)));
  if (options.swap.format == swap_format::q8) parts.limits.swap_usage = cache.compressed_terms();
  if (model->has_encoder())
    parts.encoder_inputs = {.start = *model->config().decoder_start, .longest = kept.max_encoder_length};
  parts.predicts_tokens = model->predicts_tokens();
  const auto mode = options.compute_type.value_or(model->default_compute_type());
  workspace space(options.threads, mode);
  if (model->embedding_width() > 0 && !model->ranks())
    parts.texts = std::make_shared<nn::text_encoder>(model, workspace(space.workers(), mode));
  parts.runner = std::make_unique<model_runner>(model, slots,
                                                snapshot_format(kept, cache, options.kv.layer_factory != nullptr, mode),
                                                std::move(room), std::move(space));
}

std::string settings_on_cpu(const model& model, const engine_options& options) {
  const auto kept = cache_options(model, options);
  const auto mode = options.compute_type.value_or(model.default_compute_type());
  return fmt::format("{} slots of {} tokens, steps of {}, {} tokens to go back, caches of {}, {} products; {}",
                     options.batching.slots, kept.max_sequence_length, kept.max_step_tokens, kept.max_rollback_tokens,
                     format_of(kept), mode == compute_type::int8 ? "int8" : "float32", model.fingerprint());
}

}  // namespace detail

memory_estimate estimate_memory(const std::filesystem::path& path, const engine_options& options,
                                const load_options& load) {
  detail::check(options);
  detail::check_on_cpu(options);
  const auto outline = nn::read_outline(path, load);
  const auto cache =
      outline.shape->make_cache(detail::cache_options(*outline.shape, options), options.kv.layer_factory);
  memory_estimate result;
  result.weight_bytes = outline.weight_bytes;
  result.max_sequence_length = detail::length_with(cache, *outline.shape, options);
  result.slot_bytes = cache.footprint(result.max_sequence_length);
  const auto budget = detail::cache_budget(options);
  const bool all_fit = result.slot_bytes <= budget / options.batching.slots;
  result.cache_bytes = all_fit ? result.slot_bytes * options.batching.slots : budget;
  return result;
}

}  // namespace cogen
