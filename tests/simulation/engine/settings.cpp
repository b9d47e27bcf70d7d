#include "simulation/engine/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cogen::engine_simulation {
namespace {

scheduler::limits draw_limits(random& chance) {
  scheduler::limits within;
  within.slots = chance.between(1, 4);
  within.max_sequence_length = chance.between(6, 32);
  within.max_batched_tokens = chance.chance(35) ? chance.between(1, 2) : chance.between(3, 16);
  within.depth = chance.chance(70) ? 1 : 2;
  within.run_ahead = chance.chance(70);
  within.usage = {chance.between(0, 3), chance.between(1, 5), 1 << chance.between(0, 3)};
  if (chance.chance(30)) within.max_rollback_tokens = chance.between(0, 8);
  within.idle_timeout = std::chrono::milliseconds(chance.between(0, 8));
  const auto whole = static_cast<int>(within.usage(within.max_sequence_length));
  if (chance.chance(40)) within.memory_bytes = chance.between(whole, whole * std::max(2, within.slots));
  if (chance.chance(50)) within.spare_slots = chance.between(1, within.slots);
  if (chance.chance(70)) within.swap_bytes = chance.between(1, 4 * whole);
  within.prefix_caching = chance.chance(60);
  return within;
}

/// More clients than slots, and slow ones give theirs up soon.
void crowd(settings& sampled, random& chance) {
  sampled.within.slots = chance.between(1, 2);
  sampled.within.idle_timeout = std::chrono::microseconds(chance.between(0, 1500));
  sampled.max_live = chance.between(5, 12);
}

/// Who displaces others need not wait until those have been idle for long.
void add_urgency(settings& sampled, random& chance) {
  sampled.urgent = true;
  sampled.boost = std::chrono::microseconds(chance.between(0, 5000));
  if (chance.chance(50)) sampled.within.idle_timeout = long_idle_timeout;
}

/// So little memory that those that grow need that of others.
void let_grow(settings& sampled, random& chance) {
  auto& within = sampled.within;
  const double high = chance.between(1, 10) / 10.;
  sampled.marks = {.high = high, .low = high * chance.between(1, 10) / 10., .step = chance.between(0, 8)};
  within.slots = chance.between(2, 4);
  const auto whole = static_cast<int>(within.usage(within.max_sequence_length));
  within.memory_bytes = chance.between(whole, 2 * whole);
}

/// Layers with a window, in rings that hold all of a sequence or not.
void add_rings(settings& sampled, random& chance) {
  auto& within = sampled.within;
  sampled.rings = {.window = chance.between(1, 8),
                   .max_step_tokens = within.max_batched_tokens,
                   .max_rollback_tokens = chance.between(0, 6)};
  if (chance.chance(50)) within.max_rollback_tokens = scheduler::limits().max_rollback_tokens;
  if (sampled.rings.tokens() < within.max_sequence_length)
    within.max_rollback_tokens = std::min(within.max_rollback_tokens, sampled.rings.max_rollback_tokens);
}

/// Long enough that rings are overwritten.
void let_go_round(settings& sampled, random& chance) {
  auto& within = sampled.within;
  within.max_sequence_length = chance.between(130, 260);
  within.max_batched_tokens = chance.between(8, 32);
  for (auto& each : sampled.prefixes)
    for (int more = chance.between(0, within.max_sequence_length / 2); more > 0; --more)
      each.push_back(static_cast<token>(chance.between(0, sampled.spoken.words() - 1)));
}

/// A real cache under the plans, which says how far its slots go back.
void add_real_cache(settings& sampled, random& chance) {
  auto& within = sampled.within;
  const bool goes_round = chance.chance(25);
  if (goes_round) let_go_round(sampled, chance);
  sampled.kept = {.kind = static_cast<cache_kind>(chance.between(1, static_cast<int>(cache_kind::count) - 1)),
                  .window = chance.between(1, goes_round ? 40 : 8),
                  .max_step_tokens = within.max_batched_tokens,
                  .max_rollback_tokens = chance.between(0, goes_round ? 60 : 6)};
  within.usage.block = cache::block_tokens;
  const auto whole = within.usage(within.max_sequence_length);
  within.memory_bytes = std::max(within.memory_bytes, whole);
  if (within.swap_bytes > 0) within.swap_bytes = chance.between(1, 4 * static_cast<int>(whole));
  within.max_rollback_tokens = make_cache(sampled.kept, within).max_rollback_tokens();
}

cache::options draw_model_cache(const settings& sampled, random& chance) {
  const auto& within = sampled.within;
  cache::options kept{.type = chance.chance(50) ? cache::scalar::f32 : cache::scalar::bf16,
                      .slots = within.all_slots(),
                      .max_sequence_length = within.max_sequence_length,
                      .max_step_tokens = within.max_batched_tokens,
                      .max_rollback_tokens = chance.between(0, 20)};
  if (chance.chance(20)) (kept.kv_quantization = cache::int8())->residual = 8;
  if (chance.chance(20)) kept.kv_offload = std::make_shared<cache::immediate_transfer>();
  if (sampled.encoder_inputs) kept.max_encoder_length = sampled.encoder_inputs->longest;
  return kept;
}

/// Long enough to share blocks: prefixes of a block or more, often whole messages, and room to go on.
void lengthen(settings& sampled, int limit, random& chance) {
  auto& within = sampled.within;
  within.max_batched_tokens = chance.between(8, 64);
  within.max_sequence_length = chance.between(cache::block_tokens + 20, limit);
  within.prefix_caching = chance.chance(80);
  for (auto& each : sampled.prefixes) {
    while (static_cast<int>(each.size()) < chance.between(cache::block_tokens, cache::block_tokens + 10))
      each.push_back(static_cast<token>(chance.between(0, sampled.spoken.words() - 1)));
    if (!sampled.end_tokens.empty()) each.back() = sampled.end_tokens.front();
  }
}

/// Room for some of them.
void add_checkpoints(scheduler::limits& within, random& chance) {
  within.checkpoint_interval = chance.chance(50) ? chance.between(1, 10) : cache::block_tokens;
  within.checkpoint_usage = {.fixed = 1, .block = within.usage.block};
  within.checkpoint_bytes = chance.between(0, 8);
}

void put_over(settings& sampled, const std::shared_ptr<const model>& over, random& chance) {
  auto& within = sampled.within;
  sampled.over = over;
  sampled.spoken.poison.reset();
  sampled.late = sampled.sampling = false;  // as the CPU's runner
  within.depth = 1;
  sampled.actions = chance.between(80, 300);
  sampled.misfortunes = chance.chance(30);
  sampled.encoder_inputs.reset();
  if (over->has_encoder())
    sampled.encoder_inputs = {.start = *over->config().decoder_start, .longest = chance.between(1, 20)};
  if (chance.chance(50))
    lengthen(sampled, static_cast<int>(std::min<std::int64_t>(over->config().max_positions, 200)), chance);
  sampled.kept_by_model = draw_model_cache(sampled, chance);
  const auto cache = over->make_cache(sampled.kept_by_model);
  within.usage = cache.footprint_terms();
  within.max_rollback_tokens = cache.max_rollback_tokens();
  const auto whole = static_cast<int>(within.usage(within.max_sequence_length));
  if (within.memory_bytes < scheduler::limits().memory_bytes)
    within.memory_bytes = chance.between(whole, whole * std::max(2, within.slots));
  if (within.swap_bytes > 0) within.swap_bytes = chance.between(1, 4 * whole);
  if (chance.chance(25)) sampled.refusing = chance.between(1, 5);
  sampled.refusals = chance.next();
  sampled.spoken.alone = std::make_shared<lone_model>(over, sampled.kept_by_model);
}

}  // namespace

settings draw(random& chance, const std::shared_ptr<const model>& over) {
  settings result;
  result.within = draw_limits(chance);
  result.spoken.model.vocabulary = over ? over->config().vocabulary - language::tags : chance.between(4, 40);
  const auto word = [&] { return static_cast<token>(chance.between(0, result.spoken.words() - 1)); };
  if (chance.chance(30)) result.spoken.poison = word();
  for (int i = chance.between(0, 2); i > 0; --i) result.end_tokens.push_back(word());
  if (chance.chance(20)) result.encoder_inputs = {.start = 0, .longest = chance.between(1, 12)};
  result.max_sequences = chance.chance(20) ? chance.between(1, 4) : 1000;
  result.holding = chance.chance(30) ? 0 : chance.between(10, 100);
  result.late = chance.chance(50);
  result.losing = chance.chance(50) ? 0 : chance.between(1, 50);
  result.actions = chance.between(80, 400);
  result.max_live = chance.between(1, 10);
  result.misfortunes = chance.chance(60);
  if (chance.chance(40)) crowd(result, chance);
  if (chance.chance(30)) add_urgency(result, chance);
  if (chance.chance(30)) let_grow(result, chance);
  for (int i = chance.between(1, 3); i > 0; --i)
    for (auto& added = result.prefixes.emplace_back();
         static_cast<int>(added.size()) < result.within.max_sequence_length / 2;)
      if (added.push_back(word()); chance.chance(10)) break;
  result.snapshots = chance.chance(60);
  result.sampling = chance.chance(50);
  if (over) {
    put_over(result, over, chance);
    random aside = chance;  // histories without checkpoints stay what they were
    if (aside.chance(70)) add_checkpoints(result.within, aside);
    if (aside.chance(40)) result.postponing = aside.between(1, 80);
    return result;
  }
  for (const auto& each : std::vector(result.end_tokens)) result.end_tokens.push_back(result.spoken.other_name(each));
  random aside = chance;  // histories without windows stay what they were
  if (aside.chance(50))
    add_rings(result, aside);
  else if (aside.chance(50))
    add_real_cache(result, aside);
  if (aside.chance(50)) add_checkpoints(result.within, aside);
  if (aside.chance(40)) result.postponing = aside.between(1, 80);
  return result;
}

std::string describe_model(const settings& setup) {
  const auto& kept = setup.kept_by_model;
  return fmt::format(", over a real model (rollback limit {}{}{}), {} % of the steps refused memory",
                     kept.max_rollback_tokens, kept.kv_quantization ? ", quantized" : "",
                     kept.kv_offload ? ", offloaded" : "", setup.refusing);
}

std::string describe(const settings& setup) {
  const auto& within = setup.within;
  const auto limited = [](auto value, auto unlimited) {
    return value == unlimited ? std::string("unlimited") : fmt::format("{}", value);
  };
  return fmt::format(
      "slots {}, max_sequence_length {}, max_batched_tokens {}, depth {}{}, usage {} + {} per {}, rollback limit {}, "
      "idle timeout {} ns, memory {}, "
      "swapped out {}, {} % lost, words {}, poison {}, {} end tokens, {}, max_sequences {}, {} % of the steps "
      "held{}{}{}{}{}{}{}{}{}{}{}{}",
      within.slots, within.max_sequence_length, within.max_batched_tokens, within.depth,
      within.run_ahead ? "" : " without running ahead", within.usage.fixed, within.usage.per_block, within.usage.block,
      limited(within.max_rollback_tokens, scheduler::limits().max_rollback_tokens),
      limited(within.idle_timeout.count(), scheduler::limits().idle_timeout.count()),
      limited(within.memory_bytes, scheduler::limits().memory_bytes), within.swap_bytes, setup.losing,
      setup.spoken.words(), setup.spoken.poison.value_or(-1), setup.end_tokens.size(),
      setup.encoder_inputs ? fmt::format("encoder inputs up to {}", setup.encoder_inputs->longest)
                           : "no encoder inputs",
      setup.max_sequences, setup.holding, setup.late ? ", carried out late" : "",
      setup.sampling ? ", sampled by the device" : "", setup.misfortunes ? ", misfortunes" : "",
      setup.snapshots ? ", snapshots" : "", within.prefix_caching ? ", reuse" : "",
      setup.postponing > 0 ? fmt::format(", {} % of the calls of guides postponed", setup.postponing) : "",
      setup.urgent ? fmt::format(", urgent ones with boost {} ns", setup.boost.count()) : "",
      setup.marks
          ? fmt::format(", growing by {} up to {}, down to {}", setup.marks->step, setup.marks->high, setup.marks->low)
          : "",
      setup.rings.window > 0
          ? fmt::format(", a window of {} in rings of {} tokens", setup.rings.window, setup.rings.tokens())
          : "",
      setup.kept.kind != cache_kind::none
          ? fmt::format(", over a real cache ({}, window {}, rollback limit {})", name_of(setup.kept.kind),
                        setup.kept.window, setup.kept.max_rollback_tokens)
          : "",
      within.checkpoint_bytes > 0 ? fmt::format(", {} checkpoints", within.checkpoint_bytes) : "",
      setup.over ? describe_model(setup) : "");
}

}  // namespace cogen::engine_simulation
