#include "simulation/engine/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cogen::engine_simulation {
namespace {

scheduler::limits draw_limits(random& from) {
  scheduler::limits within;
  within.slots = from.between(1, 4);
  within.max_length = from.between(6, 32);
  within.step_tokens = from.chance(35) ? from.between(1, 2) : from.between(3, 16);
  within.depth = from.chance(70) ? 1 : 2;
  within.usage = {from.between(0, 3), from.between(1, 5), 1 << from.between(0, 3)};
  if (from.chance(30)) within.slack = from.between(0, 8);
  within.patience = std::chrono::milliseconds(from.between(0, 8));
  const auto whole = static_cast<int>(within.usage(within.max_length));
  if (from.chance(40)) within.memory_bytes = from.between(whole, whole * std::max(2, within.slots));
  if (from.chance(50)) within.spare_slots = from.between(1, within.slots);
  if (from.chance(70)) within.spill_bytes = from.between(1, 4 * whole);
  within.reuse = from.chance(60);
  return within;
}

/// More clients than slots, and slow ones give theirs up soon.
void crowd(settings& drawn, random& from) {
  drawn.within.slots = from.between(1, 2);
  drawn.within.patience = std::chrono::microseconds(from.between(0, 1500));
  drawn.most_live = from.between(5, 12);
}

/// Who displaces others need not wait until those have rested for long.
void add_urgency(settings& drawn, random& from) {
  drawn.urgent = true;
  drawn.boost = std::chrono::microseconds(from.between(0, 5000));
  if (from.chance(50)) drawn.within.patience = long_patience;
}

/// So little memory that those that grow need that of others.
void let_grow(settings& drawn, random& from) {
  auto& within = drawn.within;
  const double high = from.between(1, 10) / 10.;
  drawn.marks = {.high = high, .low = high * from.between(1, 10) / 10., .step = from.between(0, 8)};
  within.slots = from.between(2, 4);
  const auto whole = static_cast<int>(within.usage(within.max_length));
  within.memory_bytes = from.between(whole, 2 * whole);
}

/// Layers with a window, in rings that hold all of a sequence or not.
void add_rings(settings& drawn, random& from) {
  auto& within = drawn.within;
  drawn.rings = {.window = from.between(1, 8), .longest_step = within.step_tokens, .slack = from.between(0, 6)};
  if (from.chance(50)) within.slack = scheduler::limits().slack;
  if (drawn.rings.tokens() < within.max_length) within.slack = std::min(within.slack, drawn.rings.slack);
}

/// Long enough that rings are overwritten.
void let_go_round(settings& drawn, random& from) {
  auto& within = drawn.within;
  within.max_length = from.between(130, 260);
  within.step_tokens = from.between(8, 32);
  for (auto& each : drawn.prefixes)
    for (int more = from.between(0, within.max_length / 2); more > 0; --more)
      each.push_back(static_cast<token>(from.between(0, drawn.spoken.words() - 1)));
}

/// A real cache under the plans, which says how far its slots go back.
void add_real_cache(settings& drawn, random& from) {
  auto& within = drawn.within;
  const bool goes_round = from.chance(25);
  if (goes_round) let_go_round(drawn, from);
  drawn.kept = {.kind = static_cast<cache_kind>(from.between(1, static_cast<int>(cache_kind::count) - 1)),
                .window = from.between(1, goes_round ? 40 : 8),
                .longest_step = within.step_tokens,
                .slack = from.between(0, goes_round ? 60 : 6)};
  within.usage.block = cache::block_tokens;
  const auto whole = within.usage(within.max_length);
  within.memory_bytes = std::max(within.memory_bytes, whole);
  if (within.spill_bytes > 0) within.spill_bytes = from.between(1, 4 * static_cast<int>(whole));
  within.slack = make_cache(drawn.kept, within).slack();
}

}  // namespace

settings draw(random& from) {
  settings result;
  result.within = draw_limits(from);
  result.spoken.model.vocabulary = from.between(4, 40);
  const auto word = [&] { return static_cast<token>(from.between(0, result.spoken.words() - 1)); };
  if (from.chance(30)) result.spoken.poison = word();
  for (int i = from.between(0, 2); i > 0; --i) result.end_tokens.push_back(word());
  if (from.chance(20)) result.sources = {.start = 0, .longest = from.between(1, 12)};
  result.max_sequences = from.chance(20) ? from.between(1, 4) : 1000;
  result.holding = from.chance(30) ? 0 : from.between(10, 100);
  result.late = from.chance(50);
  result.losing = from.chance(50) ? 0 : from.between(1, 50);
  result.actions = from.between(80, 400);
  result.most_live = from.between(1, 10);
  result.misfortunes = from.chance(60);
  if (from.chance(40)) crowd(result, from);
  if (from.chance(30)) add_urgency(result, from);
  if (from.chance(30)) let_grow(result, from);
  for (int i = from.between(1, 3); i > 0; --i)
    for (auto& added = result.prefixes.emplace_back(); static_cast<int>(added.size()) < result.within.max_length / 2;)
      if (added.push_back(word()); from.chance(10)) break;
  result.images = from.chance(60);
  result.draws = from.chance(50);
  random aside = from;  // histories without windows stay what they were
  if (aside.chance(50))
    add_rings(result, aside);
  else if (aside.chance(50))
    add_real_cache(result, aside);
  return result;
}

std::string describe(const settings& of) {
  const auto& within = of.within;
  const auto limited = [](auto value, auto unlimited) {
    return value == unlimited ? std::string("unlimited") : fmt::format("{}", value);
  };
  return fmt::format(
      "slots {}, max_length {}, step_tokens {}, depth {}, usage {} + {} per {}, slack {}, patience {} ns, memory {}, "
      "spilled {}, {} % lost, words {}, poison {}, {} end tokens, {}, max_sequences {}, {} % of the steps "
      "held{}{}{}{}{}{}{}{}{}",
      within.slots, within.max_length, within.step_tokens, within.depth, within.usage.fixed, within.usage.per_block,
      within.usage.block, limited(within.slack, scheduler::limits().slack),
      limited(within.patience.count(), scheduler::limits().patience.count()),
      limited(within.memory_bytes, scheduler::limits().memory_bytes), within.spill_bytes, of.losing, of.spoken.words(),
      of.spoken.poison.value_or(-1), of.end_tokens.size(),
      of.sources ? fmt::format("sources up to {}", of.sources->longest) : "no sources", of.max_sequences, of.holding,
      of.late ? ", carried out late" : "", of.draws ? ", drawn by the device" : "",
      of.misfortunes ? ", misfortunes" : "", of.images ? ", images" : "", within.reuse ? ", reuse" : "",
      of.urgent ? fmt::format(", urgent ones with boost {} ns", of.boost.count()) : "",
      of.marks ? fmt::format(", growing by {} up to {}, down to {}", of.marks->step, of.marks->high, of.marks->low)
               : "",
      of.rings.window > 0 ? fmt::format(", a window of {} in rings of {} tokens", of.rings.window, of.rings.tokens())
                          : "",
      of.kept.kind != cache_kind::none ? fmt::format(", over a real cache ({}, window {}, slack {})",
                                                     name_of(of.kept.kind), of.kept.window, of.kept.slack)
                                       : "");
}

}  // namespace cogen::engine_simulation
