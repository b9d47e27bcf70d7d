#include "engine/checked_options.hpp"
#include "engine/device_engine.hpp"
#include "engine/machine_memory.hpp"
#include "engine/model_runner.hpp"
#include "nn/model_outline.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>
#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace cogen {
namespace {

std::int64_t cache_budget(const engine_options& options) {
  return options.kv.bytes ? *options.kv.bytes : detail::machine_memory() / 2;
}

/// The number format of the weights, for keys and values. For quantized weights float16, which has three more bits of
/// precision than bfloat16.
cache::scalar cache_type_of(const model& model) {
  if (model.weight_type() == "f32") return cache::scalar::f32;
  if (model.weight_type() == "bf16") return cache::scalar::bf16;
  return cache::scalar::f16;
}

/// The default maximum length for a model without a limit. It only reserves address space, which must stay affordable.
constexpr int length_of_unlimited = 1 << 20;
/// The default maximum length with a cache whose size does not grow with the sequence.
constexpr int length_of_endless = 1 << 30;

int length_limit(const model& model, const engine_options& options) {
  const int positions =
      options.kv.sinks ? static_cast<int>(load::unlimited_positions) : static_cast<int>(model.config().max_positions);
  if (const auto length = options.limits.max_sequence_length) {
    if (*length >= 1 && *length <= positions) return *length;
    throw std::invalid_argument(fmt::format(
        "engine_options.limits.max_sequence_length is {}; this model holds {} positions", *length, positions));
  }
  if (options.kv.sinks) return length_of_endless;
  return positions == load::unlimited_positions ? length_of_unlimited : positions;
}

int encoder_limit(const model& model, const engine_options& options) {
  const int positions = static_cast<int>(model.config().max_positions);
  const int length = options.limits.max_encoder_length.value_or(positions);
  if (length < 1 || length > positions)
    throw std::invalid_argument(
        fmt::format("engine_options.limits.max_encoder_length is {}; this model reads {} tokens", length, positions));
  return length;
}

/// The options alone do not determine the maximum length: the caller's own layers may need every position.
int length_limit(const model& model, const cache::cache& cache, const engine_options& options) {
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
  if (!tokens) return {128, 256};
  if (*tokens < 1)
    throw std::invalid_argument(
        fmt::format("engine_options.batching.max_batched_tokens is {}; it must be at least 1", *tokens));
  return {*tokens, *tokens};
}

std::chrono::nanoseconds target_step_latency(const engine_options& options) {
  const auto latency = options.batching.target_step_latency;
  if (!latency) return scheduler::limits().target_step_latency;
  if (latency->count() < 1)
    throw std::invalid_argument(
        fmt::format("engine_options.batching.target_step_latency is {} µs; it must be at least 1", latency->count()));
  return *latency;
}

/// Spare slots take address space; they take memory only for the tokens that they keep.
int spare_slots(const engine_options& options) {
  return std::min(options.batching.slots, std::numeric_limits<int>::max() - options.batching.slots);
}

cache::options cache_options(const model& model, const engine_options& options) {
  cache::options kept;
  kept.type = options.kv.dtype.value_or(cache_type_of(model));
  kept.slots = options.batching.slots + spare_slots(options);
  kept.max_sequence_length = length_limit(model, options);
  if (model.has_encoder()) kept.max_encoder_length = encoder_limit(model, options);
  kept.kv_quantization = options.kv.quantization;
  kept.sinks = options.kv.sinks;
  kept.kv_offload = options.kv.offload;
  kept.longest_step = max_batched_tokens(options).prefill;
  kept.max_rollback_tokens = options.kv.max_rollback_tokens;
  return kept;
}

scheduler::footprint usage_of(const cache::memory_terms& terms) {
  scheduler::footprint usage{.fixed = terms.fixed, .per_block = terms.per_block, .block = terms.block};
  for (const auto& term : terms.capped) usage.capped.push_back({term.per_block, term.blocks});
  return usage;
}

std::shared_ptr<cache::transfer> swap_transfer(const engine_options& options) {
  if (options.swap.transfer || !options.external_stepping) return options.swap.transfer;
  return std::make_shared<cache::immediate_transfer>();
}

/// Sets what a swapped-out slot takes, if that differs from what the slot itself takes.
void count_swap_outs(scheduler::limits& limits, const cache::cache& cache, swap_format format) {
  if (format == swap_format::exact) return;
  if (format != swap_format::q8)
    throw std::invalid_argument(fmt::format("engine_options.swap.format is {}; it may be exact ({}) or q8 ({})",
                                            static_cast<int>(format), static_cast<int>(swap_format::exact),
                                            static_cast<int>(swap_format::q8)));
  limits.swap_usage = usage_of(cache.compressed_terms());
  limits.exact_swaps = false;
}

std::int64_t swap_memory(const engine_options& options) {
  return options.swap.bytes.value_or(detail::machine_memory() / 4);
}

/// Bytes for swapped-out slots, in memory and in the file together.
std::int64_t swap_budget(const engine_options& options) {
  const auto memory = swap_memory(options);
  if (options.swap.directory.empty() || memory < 0) return memory;
  return memory + std::min(options.swap.file_bytes, std::numeric_limits<std::int64_t>::max() - memory);
}

detail::swap_room swap_room_of(const engine_options& options) {
  detail::swap_room room{swap_memory(options), nullptr, options.swap.format};
  if (!options.swap.directory.empty() && options.swap.file_bytes > 0)
    room.file = std::make_shared<detail::swap_file>(options.swap.directory, options.swap.file_bytes);
  return room;
}

template <class Policy>
std::unique_ptr<Policy> made_by(const std::function<std::unique_ptr<Policy>()>& option,
                                std::unique_ptr<Policy> (*otherwise)(), const char* why_not) {
  if (!option) return otherwise();
  auto made = option();
  if (!made) throw std::invalid_argument(why_not);
  return made;
}

/// Sets the runner and the scheduler's limits for an engine on the CPU.
void put_on_cpu(engine_parts& parts, const std::shared_ptr<const model>& model, const engine_options& options) {
  const auto kept = cache_options(*model, options);
  auto runner =
      std::make_unique<detail::model_runner>(model, kept, options.kv.layer_factory, swap_transfer(options),
                                             swap_room_of(options), workspace(options.threads, options.compute_type));
  const auto& cache = runner->cache();
  parts.limits.slots = options.batching.slots;
  parts.limits.spare_slots = spare_slots(options);
  parts.limits.prefix_caching = options.kv.prefix_caching;
  parts.limits.max_sequence_length = length_limit(*model, cache, options);
  parts.limits.max_batched_tokens = max_batched_tokens(options).awaited;
  parts.limits.prefill_tokens = max_batched_tokens(options).prefill;
  parts.limits.memory_bytes = cache_budget(options);
  parts.limits.usage = usage_of(cache.footprint_terms());
  parts.limits.max_rollback_tokens = cache.max_rollback_tokens();
  parts.limits.idle_timeout = options.policies.idle_timeout;
  count_swap_outs(parts.limits, cache, options.swap.format);
  parts.runner = std::move(runner);
  if (model->has_encoder())
    parts.encoder_inputs = {.start = *model->config().decoder_start, .longest = kept.max_encoder_length};
}

engine_parts parts_of(const std::shared_ptr<const model>& model, const engine_options& options) {
  if (!model) throw std::invalid_argument("engine: the model is null");
  detail::check(options);
  engine_parts parts;
  if (const auto* device = model->on_device())
    detail::put_on_device(parts, *device, static_cast<int>(model->config().vocabulary), model->config().max_positions,
                          options);
  else
    put_on_cpu(parts, model, options);
  parts.limits.swap_bytes = swap_budget(options);
  parts.limits.target_step_latency = target_step_latency(options);
  parts.fingerprint = model->fingerprint();
  parts.scheduling_policy =
      made_by(options.policies.scheduling, &scheduler::fcfs, "engine_options.policies.scheduling made no policy");
  parts.preemption_policy = made_by(options.policies.preemption, &scheduler::longest_idle,
                                    "engine_options.policies.preemption made no policy");
  parts.allocation_policy = made_by(options.policies.allocation, &scheduler::reserve_max_length,
                                    "engine_options.policies.allocation made no policy");
  if (model->has_tokenizer()) parts.tokenizer = {model, &model->tokenizer()};
  if (model->chat()) parts.chat = {model, model->chat()};
  parts.chat_error = model->chat_error();
  if (model->has_tokenizer()) {
    const auto ends = model->tokenizer().eos();
    parts.end_tokens.assign(ends.begin(), ends.end());
  }
  return parts;
}

}  // namespace

engine::engine(std::shared_ptr<const model> model, engine_options options)
    : engine(parts_of(model, options), std::move(options)) {}

memory_estimate estimate_memory(const std::filesystem::path& path, const engine_options& options) {
  detail::check(options);
  const auto outline = nn::read_outline(path);
  const auto cache = outline.shape->make_cache(cache_options(*outline.shape, options), options.kv.layer_factory);
  memory_estimate result;
  result.weight_bytes = outline.weight_bytes;
  result.max_sequence_length = length_limit(*outline.shape, cache, options);
  result.slot_bytes = cache.footprint(result.max_sequence_length);
  const auto budget = cache_budget(options);
  const bool all_fit = result.slot_bytes <= budget / options.batching.slots;
  result.cache_bytes = all_fit ? result.slot_bytes * options.batching.slots : budget;
  return result;
}

}  // namespace cogen
