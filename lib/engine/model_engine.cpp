#include "engine/device_engine.hpp"
#include "engine/machine_memory.hpp"
#include "engine/model_runner.hpp"
#include "models/model_outline.hpp"

#include <cogen/engine.hpp>
#include <cogen/memory_estimate.hpp>
#include <cogen/model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace cogen {
namespace {

std::int64_t cache_budget(const engine_options& options) {
  return options.cache_bytes == 0 ? detail::machine_memory() / 2 : options.cache_bytes;
}

/// The model's own format for keys and values. Quantised weights say nothing of it; float16 keeps three more bits than
/// bfloat16 does.
cache::scalar cache_type_of(const model& model) {
  if (model.weight_type() == "f32") return cache::scalar::f32;
  if (model.weight_type() == "bf16") return cache::scalar::bf16;
  return cache::scalar::f16;
}

/// What 0 means for a model that could read for ever: room that is only reserved, not taken, should stay affordable.
constexpr int length_of_unlimited = 1 << 20;
/// And for a cache that takes no more room however long a sequence goes on.
constexpr int length_of_endless = 1 << 30;

int length_limit(const model& model, const engine_options& options) {
  const int positions =
      options.sinks ? static_cast<int>(load::unlimited_positions) : static_cast<int>(model.config().max_positions);
  if (options.max_length < 0 || options.max_length > positions)
    throw std::invalid_argument(
        fmt::format("engine_options.max_length is {}; this model holds {} positions", options.max_length, positions));
  if (options.max_length != 0) return options.max_length;
  if (options.sinks) return length_of_endless;
  return positions == load::unlimited_positions ? length_of_unlimited : positions;
}

int source_limit(const model& model, const engine_options& options) {
  const int positions = static_cast<int>(model.config().max_positions);
  if (options.max_source < 0 || options.max_source > positions)
    throw std::invalid_argument(
        fmt::format("engine_options.max_source is {}; this model reads {} tokens", options.max_source, positions));
  return options.max_source == 0 ? positions : options.max_source;
}

/// Options alone do not tell how far a sequence can go: layers of the caller's own may need every position.
int length_limit(const model& model, const cache::cache& cache, const engine_options& options) {
  const auto most = static_cast<int>(std::min<std::int64_t>(model.max_length(cache), length_of_endless));
  if (options.max_length > most)
    throw std::invalid_argument(fmt::format(
        "engine_options.max_length is {}; with this cache the model holds {} positions", options.max_length, most));
  return most;
}

/// Of steps that running streams wait for, and of others.
struct step_sizes {
  int awaited;
  int prefill;
};

step_sizes step_tokens(const engine_options& options) {
  if (options.step_tokens == 0) return {128, 256};
  return {options.step_tokens, options.step_tokens};
}

std::chrono::nanoseconds step_time(const engine_options& options) {
  if (options.step_time.count() < 0)
    throw std::invalid_argument(
        fmt::format("engine_options.step_time is {} µs; it may be 0 or more", options.step_time.count()));
  return options.step_time.count() == 0 ? scheduler::limits().step_time : options.step_time;
}

/// They cost addresses, and memory only for what they keep.
int spare_slots(const engine_options& options) {
  return std::min(options.slots, std::numeric_limits<int>::max() - options.slots);
}

cache::options cache_options(const model& model, const engine_options& options) {
  cache::options kept;
  kept.type = options.cache_type.value_or(cache_type_of(model));
  kept.slots = options.slots + spare_slots(options);
  kept.max_length = length_limit(model, options);
  if (model.has_encoder()) kept.max_source = source_limit(model, options);
  kept.quantised = options.quantised;
  kept.sinks = options.sinks;
  kept.offload = options.offload;
  kept.longest_step = step_tokens(options).prefill;
  kept.slack = options.slack;
  return kept;
}

scheduler::footprint usage_of(const cache::memory_terms& terms) {
  scheduler::footprint usage{.fixed = terms.fixed, .per_block = terms.per_block, .block = terms.block};
  for (const auto& term : terms.capped) usage.capped.push_back({term.per_block, term.blocks});
  return usage;
}

std::shared_ptr<cache::transfer> spill_transfer(const engine_options& options) {
  if (options.spill_transfer || !options.by_hand) return options.spill_transfer;
  return std::make_shared<cache::immediate_transfer>();
}

/// What is kept of a spilled slot, where that is not what the slot takes.
void count_spills(scheduler::limits& limits, const cache::cache& cache, spill_format format) {
  if (format == spill_format::exact) return;
  if (format != spill_format::q8)
    throw std::invalid_argument(fmt::format("engine_options.spill_format is {}; it may be exact ({}) or q8 ({})",
                                            static_cast<int>(format), static_cast<int>(spill_format::exact),
                                            static_cast<int>(spill_format::q8)));
  limits.spill_usage = usage_of(cache.packed_terms());
  limits.exact_spills = false;
}

std::int64_t spill_memory(const engine_options& options) {
  return options.spill_bytes.value_or(detail::machine_memory() / 4);
}

/// Of memory and file together.
std::int64_t spill_budget(const engine_options& options) {
  const auto memory = spill_memory(options);
  if (options.spill_directory.empty() || memory < 0) return memory;
  return memory + std::min(options.spill_file_bytes, std::numeric_limits<std::int64_t>::max() - memory);
}

detail::spill_room spill_room_of(const engine_options& options) {
  detail::spill_room room{spill_memory(options), nullptr, options.spill_format};
  if (!options.spill_directory.empty() && options.spill_file_bytes > 0)
    room.file = std::make_shared<detail::spill_file>(options.spill_directory, options.spill_file_bytes);
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

/// The runner, and what the scheduler has to know of it.
void put_on_cpu(engine_parts& parts, const std::shared_ptr<const model>& model, const engine_options& options) {
  const auto kept = cache_options(*model, options);
  auto runner =
      std::make_unique<detail::model_runner>(model, kept, options.own_layers, spill_transfer(options),
                                             spill_room_of(options), workspace(options.threads, options.numerics));
  const auto& cache = runner->cache();
  parts.limits.slots = options.slots;
  parts.limits.spare_slots = spare_slots(options);
  parts.limits.reuse = options.reuse;
  parts.limits.max_length = length_limit(*model, cache, options);
  parts.limits.step_tokens = step_tokens(options).awaited;
  parts.limits.prefill_tokens = step_tokens(options).prefill;
  parts.limits.memory_bytes = cache_budget(options);
  parts.limits.usage = usage_of(cache.footprint_terms());
  parts.limits.slack = cache.slack();
  parts.limits.patience = options.patience;
  count_spills(parts.limits, cache, options.spill_format);
  parts.runner = std::move(runner);
  if (model->has_encoder()) parts.sources = {.start = *model->config().decoder_start, .longest = kept.max_source};
}

engine_parts parts_of(const std::shared_ptr<const model>& model, const engine_options& options) {
  if (!model) throw std::invalid_argument("engine: the model is null");
  engine_parts parts;
  if (const auto* device = model->on_device())
    detail::put_on_device(parts, *device, static_cast<int>(model->config().vocabulary), model->config().max_positions,
                          options);
  else
    put_on_cpu(parts, model, options);
  parts.limits.spill_bytes = spill_budget(options);
  parts.limits.step_time = step_time(options);
  parts.identity = model->identity();
  parts.order = made_by(options.order, &scheduler::first_come, "engine_options.order made no order");
  parts.victims = made_by(options.victims, &scheduler::longest_rested, "engine_options.victims made no policy");
  parts.reservation =
      made_by(options.reservation, &scheduler::whole_length, "engine_options.reservation made no policy");
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
  const auto outline = models::read_outline(path);
  const auto cache = outline.shape->make_cache(cache_options(*outline.shape, options), options.own_layers);
  memory_estimate result;
  result.weight_bytes = outline.weight_bytes;
  result.max_length = length_limit(*outline.shape, cache, options);
  result.slot_bytes = cache.footprint(result.max_length);
  const auto budget = cache_budget(options);
  const bool all_fit = result.slot_bytes <= budget / options.slots;
  result.cache_bytes = all_fit ? result.slot_bytes * options.slots : budget;
  return result;
}

}  // namespace cogen
