#include "simulation/settings.hpp"

#include <algorithm>

namespace cogen::scheduler::simulate {
namespace {

class by_id final : public scheduling_policy {
 public:
  explicit by_id(bool displacing) : displacing_(displacing) {}

  bool precedes(const candidate& a, const candidate& b) const override { return rank(a) < rank(b); }
  bool displaces(const candidate&, const candidate&) const override { return displacing_; }

 private:
  static std::uint64_t rank(const candidate& run) { return static_cast<std::uint64_t>(run.sequence) % 3; }

  bool displacing_;
};

constexpr const char* policy_names[] = {"first come", "own order", "priority", "fair share", "earliest deadline"};

/// Enough for one sequence, not for all.
void limit_memory(limits& within, random& chance) {
  const auto whole = static_cast<int>(within.usage(within.max_sequence_length));
  within.memory_bytes = chance.between(whole, whole * std::max(2, within.slots));
}

/// Room enough that forks find slots, and blocks small enough that they share some.
void make_branching(settings& sampled, random& chance) {
  auto& within = sampled.within;
  within.slots = chance.between(2, 6);
  within.max_sequence_length = chance.between(16, 60);
  within.max_batched_tokens = chance.between(3, 40);
  within.usage.block = 1 << chance.between(0, 2);
  within.memory_bytes = limits().memory_bytes;
  if (chance.chance(40)) limit_memory(within, chance);
  sampled.max_live = chance.between(1, within.slots);
  sampled.failing /= 4;
}

/// Prompts longer than a step, and blocks small enough that they share some.
void make_alike(settings& sampled, random& chance) {
  sampled.alike = sampled.within.prefix_caching = true;
  sampled.within.usage.block = 1 << chance.between(0, 2);
  sampled.within.max_sequence_length = std::max(sampled.within.max_sequence_length, 20);
  sampled.within.max_batched_tokens = chance.between(3, 12);
}

/// So little memory that those that grow need that of others, and slots enough for them.
void make_growing(settings& sampled, random& chance) {
  auto& within = sampled.within;
  sampled.growing = true;
  sampled.marks.high = chance.between(1, 10) / 10.;
  sampled.marks.low = sampled.marks.high * chance.between(1, 10) / 10.;
  sampled.marks.step = chance.between(0, 12);
  within.max_sequence_length = std::max(within.max_sequence_length, 12);
  within.slots = chance.between(2, 6);
  sampled.max_live = std::max(sampled.max_live, within.slots);
  const auto whole = static_cast<int>(within.usage(within.max_sequence_length));
  within.memory_bytes = chance.between(whole, 2 * whole);
}

/// Many that rest, and few slots.
void make_pressed(settings& sampled, random& chance) {
  sampled.pressed = true;
  sampled.within.slots = chance.between(1, 2);
  sampled.within.idle_timeout = time(chance.between(0, 2));
  sampled.max_live = chance.between(3, 10);
}

/// Layers with a window, in rings that hold all of a sequence or not.
void add_rings(settings& sampled, random& chance) {
  auto& within = sampled.within;
  sampled.rings = {.window = chance.between(1, 12),
                   .max_step_tokens = std::max(within.max_batched_tokens, within.prefill_tokens),
                   .max_rollback_tokens = chance.between(0, 8)};
  if (chance.chance(50)) within.max_rollback_tokens = limits().max_rollback_tokens;
  if (sampled.rings.tokens() < within.max_sequence_length)
    within.max_rollback_tokens = std::min(within.max_rollback_tokens, sampled.rings.max_rollback_tokens);
}

/// Room for few of them, or for many.
void add_checkpoints(settings& sampled, random& chance) {
  auto& within = sampled.within;
  if (sampled.alike) within.max_rollback_tokens = std::min(within.max_rollback_tokens, chance.between(0, 3));
  within.checkpoint_interval = chance.between(1, 10);
  within.checkpoint_usage = {chance.between(0, 3), 0, within.usage.block};
  if (chance.chance(50)) within.checkpoint_usage.capped = {{chance.between(0, 2), chance.between(0, 4)}};
  within.checkpoint_bytes = chance.between(0, chance.chance(50) ? 6 : 60);
}

/// As states do, which go back over the drafts of the last row alone.
void add_dropped_drafts(settings& sampled, random& chance) {
  auto& within = sampled.within;
  within.max_rollback_tokens = std::min(within.max_rollback_tokens, chance.between(0, 2));
  within.max_dropped_drafts = chance.between(1, 6);
  if (sampled.rings.window > 0 && sampled.rings.tokens() < within.max_sequence_length)
    within.max_dropped_drafts = std::min(within.max_dropped_drafts, sampled.rings.max_rollback_tokens);
}

}  // namespace

settings draw(random& chance) {
  settings result;
  auto& within = result.within;
  within.slots = chance.between(1, 6);
  within.max_sequence_length = chance.between(4, 60);
  within.max_batched_tokens = chance.chance(20) ? chance.between(1, 2) : chance.between(3, 24);
  within.depth = chance.between(1, 2);
  within.run_ahead = chance.chance(60);
  within.usage = {chance.between(0, 3), chance.between(1, 5), 1 << chance.between(0, 3)};
  if (chance.chance(30)) within.usage.capped = {{chance.between(0, 3), chance.between(0, 4)}, {1, 2}};
  if (chance.chance(40)) within.max_rollback_tokens = chance.between(0, 8);
  if (chance.chance(60)) within.idle_timeout = time(chance.between(0, 8));
  if (chance.chance(50)) limit_memory(within, chance);
  result.model.vocabulary = chance.between(3, 40);
  result.actions = chance.between(20, 150);
  result.max_live = chance.between(1, 10);
  result.failing = chance.chance(50) ? 0 : chance.between(1, 10);
  result.forks = chance.chance(75);
  result.encoder_inputs = chance.chance(30);
  result.rule = static_cast<policy>(chance.between(0, static_cast<int>(policy::count) - 1));
  result.boost = time(chance.between(0, 8));
  for (int tenant = chance.between(1, 3); tenant >= 0; --tenant)
    result.weights[static_cast<std::uint64_t>(tenant)] = chance.between(1, 8) / 2.;
  result.branching = result.forks && chance.chance(60);
  if (result.branching) make_branching(result, chance);
  if (chance.chance(50)) within.spare_slots = chance.between(1, within.slots);
  if (result.forks && chance.chance(50)) make_alike(result, chance);
  if (!result.branching && chance.chance(50)) make_pressed(result, chance);
  if (chance.chance(75))
    within.swap_bytes = chance.between(1, 4 * static_cast<int>(within.usage(within.max_sequence_length)));
  if (chance.chance(40)) make_growing(result, chance);
  result.losing = chance.chance(50) ? 0 : chance.between(1, 50);
  if (chance.chance(40)) {
    within.exact_swaps = false;
    within.swap_usage = {chance.between(0, 3), chance.between(0, 3), within.usage.block};
  }
  if (chance.chance(30)) within.prefill_tokens = chance.between(1, 60);
  if (chance.chance(30)) within.target_step_latency = time(chance.between(1, 20));
  random aside = chance;  // histories without windows stay what they were
  if (aside.chance(50)) add_rings(result, aside);
  if (aside.chance(40)) within.max_draft_tokens = aside.between(1, 12);  // and those without drafts
  if (aside.chance(60)) add_checkpoints(result, aside);
  if (within.max_draft_tokens > 0 && aside.chance(50)) add_dropped_drafts(result, aside);
  if (aside.chance(40)) within.max_all_logits_tokens = aside.chance(40) ? 1 : aside.between(2, 10);
  result.displacing = result.rule == policy::priority || result.rule == policy::fair_share ||
                      (result.rule == policy::own && aside.chance(60));
  if (aside.chance(40)) result.late = aside.between(1, 60);
  return result;
}

std::unique_ptr<scheduling_policy> make_scheduling_policy(const settings& setup) {
  switch (setup.rule) {
    case policy::own:
      return std::make_unique<by_id>(setup.displacing);
    case policy::priority:
      return by_priority(setup.boost);
    case policy::fair_share:
      return fair_share(setup.weights);
    case policy::deadline:
      return earliest_deadline_first();
    default:
      return fcfs();
  }
}

std::unique_ptr<allocation_policy> make_allocation_policy(const settings& setup) {
  return setup.growing ? watermarks(setup.marks) : reserve_max_length();
}

std::string describe(const settings& setup) {
  const auto& within = setup.within;
  const bool limited = within.memory_bytes != limits().memory_bytes;
  return "slots " + std::to_string(within.slots) + " and " + std::to_string(within.spare_slots) +
         ", max_sequence_length " + std::to_string(within.max_sequence_length) + ", max_batched_tokens " +
         std::to_string(within.max_batched_tokens) + ", prefill_tokens " + std::to_string(within.prefill_tokens) +
         ", depth " + std::to_string(within.depth) + (within.run_ahead ? "" : " without running ahead") +
         (within.target_step_latency == limits().target_step_latency
              ? ""
              : ", target_step_latency " + std::to_string(within.target_step_latency.count())) +
         ", usage " + std::to_string(within.usage.fixed) + " + " + std::to_string(within.usage.per_block) + " per " +
         std::to_string(within.usage.block) + (within.usage.capped.empty() ? "" : " with rings") + ", rollback limit " +
         (within.max_rollback_tokens == limits().max_rollback_tokens ? "unlimited"
                                                                     : std::to_string(within.max_rollback_tokens)) +
         ", idle timeout " +
         (within.idle_timeout == limits().idle_timeout ? "unlimited" : std::to_string(within.idle_timeout.count())) +
         ", memory " + (limited ? std::to_string(within.memory_bytes) : std::string("unlimited")) + ", vocabulary " +
         std::to_string(setup.model.vocabulary) + ", swapped out " + std::to_string(within.swap_bytes) +
         (within.exact_swaps ? "" : " inexactly") + ", losing " + std::to_string(setup.losing) + " %, failing " +
         std::to_string(setup.failing) + " %, " + policy_names[static_cast<int>(setup.rule)] +
         (setup.displacing ? ", displacing" : "") + (setup.branching ? ", branching" : "") +
         (setup.growing ? ", growing by " + std::to_string(setup.marks.step) + " up to " +
                              std::to_string(setup.marks.high) + ", down to " + std::to_string(setup.marks.low)
                        : std::string()) +
         (setup.rings.window > 0 ? ", a window of " + std::to_string(setup.rings.window) + " in rings of " +
                                       std::to_string(setup.rings.tokens()) + " tokens"
                                 : std::string()) +
         (within.max_draft_tokens > 0 ? ", draft tokens " + std::to_string(within.max_draft_tokens) : std::string()) +
         (within.max_dropped_drafts > 0 ? ", of which a row drops " + std::to_string(within.max_dropped_drafts)
                                        : std::string()) +
         (within.max_all_logits_tokens != limits().max_all_logits_tokens
              ? ", tokens for all logits " + std::to_string(within.max_all_logits_tokens)
              : std::string()) +
         (within.checkpoint_bytes > 0 ? ", checkpoints of " + std::to_string(within.checkpoint_bytes) + " bytes"
                                      : std::string()) +
         (setup.late > 0 ? ", late " + std::to_string(setup.late) + " %" : std::string()) +
         (setup.pressed ? ", pressed" : "") + (setup.alike ? ", alike" : "") +
         (setup.encoder_inputs ? ", encoder inputs" : "");
}

}  // namespace cogen::scheduler::simulate
