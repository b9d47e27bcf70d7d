#include "limits.hpp"

#include <stdexcept>
#include <string>

namespace cogen::scheduler {
namespace {

void at_least(const std::string& name, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  throw std::invalid_argument("limits." + name + " is " + std::to_string(value) + "; it must be at least " +
                              std::to_string(least));
}

void at_most(const std::string& name, std::int64_t value, std::int64_t most) {
  if (value <= most) return;
  throw std::invalid_argument("limits." + name + " is " + std::to_string(value) + "; it must be at most " +
                              std::to_string(most));
}

// The bookkeeping of a slot takes a few hundred bytes.
constexpr std::int64_t max_slots = std::int64_t{1} << 16;

// All sums of the memory account stay well below 2^63.
constexpr std::int64_t max_bytes = std::int64_t{1} << 60;

void check_footprint(const limits& within, const std::string& name, const slot_footprint& usage) {
  const auto part = [&](const char* field) { return name + "." + field; };
  at_least(part("block"), usage.block, 1);
  at_least(part("fixed"), usage.fixed, 0);
  at_least(part("per_block"), usage.per_block, 0);
  const std::int64_t blocks = slot_footprint{0, 1, usage.block}(within.max_sequence_length);
  const auto slots = std::int64_t{within.slots} + within.spare_slots;
  at_most(part("fixed"), usage.fixed, max_bytes / slots / 2);
  at_most(part("per_block"), usage.per_block, max_bytes / slots / blocks / 2);
  for (const capped_term& term : usage.capped) {
    at_least(part("capped.per_block"), term.per_block, 0);
    at_least(part("capped.blocks"), term.blocks, 0);
    const auto terms = static_cast<std::int64_t>(usage.capped.size());
    at_most(part("capped.per_block"), term.per_block, max_bytes / slots / blocks / 2 / terms);
  }
}

}  // namespace

const limits& checked(const limits& within) {
  at_least("slots", within.slots, 1);
  at_most("slots", within.slots, max_slots);
  at_least("spare_slots", within.spare_slots, 0);
  at_most("spare_slots", within.spare_slots, max_slots);
  at_least("max_sequence_length", within.max_sequence_length, 1);
  at_least("max_batched_tokens", within.max_batched_tokens, 1);
  at_least("prefill_tokens", within.prefill_tokens, 0);
  at_least("target_step_latency", within.target_step_latency.count(), 1);
  at_least("max_draft_tokens", within.max_draft_tokens, 0);
  at_least("max_all_logits_tokens", within.max_all_logits_tokens, 1);
  at_least("memory_bytes", within.memory_bytes, 0);
  at_least("max_rollback_tokens", within.max_rollback_tokens, 0);
  at_least("max_dropped_drafts", within.max_dropped_drafts, 0);
  at_least("checkpoint_interval", within.checkpoint_interval, 1);
  at_least("checkpoint_bytes", within.checkpoint_bytes, 0);
  at_least("idle_timeout", within.idle_timeout.count(), 0);
  at_least("swap_bytes", within.swap_bytes, 0);
  at_least("depth", within.depth, 1);
  at_most("depth", within.depth, 2);
  check_footprint(within, "usage", within.usage);
  if (within.checkpoint_bytes > 0) check_footprint(within, "checkpoint_usage", within.checkpoint_usage);
  if (within.swap_usage) check_footprint(within, "swap_usage", *within.swap_usage);
  return within;
}

}  // namespace cogen::scheduler
