#include "simulation/require.hpp"
#include "simulation/rules.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <cmath>

namespace cogen::scheduler::simulate {

// Order

bool world::precedes(sequence_id a, sequence_id b) const {
  return comes_before(settings_, {a, live_.at(a)}, {b, live_.at(b)});
}

bool world::may_overtake(sequence_id later, sequence_id overtaken) const {
  return simulate::may_overtake(settings_, {later, live_.at(later)}, {overtaken, live_.at(overtaken)});
}

/// Those without a predecessor.
std::vector<sequence_id> world::firsts(const std::set<sequence_id>& ids) const {
  std::vector<sequence_id> result;
  for (const auto each : ids)
    if (std::ranges::none_of(ids, [&](sequence_id other) { return precedes(other, each); })) result.push_back(each);
  return result;
}

bool world::fits(sequence_id id) const {
  const auto bytes = settings_.within.usage(live_.at(id).capacity);
  const bool alone = machine_.free_slots() == settings_.within.slots;
  const auto budget = settings_.within.memory_bytes;
  const auto most = alone || !settings_.growing ? budget : make_allocation_policy(settings_)->high(budget);
  return machine_.free_slots() > 0 && !any_is_short() &&
         bytes <= most - machine_.memory_in_use() + machine_.prefix_cached_bytes();
}

bool world::any_is_short() const {
  return std::ranges::any_of(live_, [&](const auto& entry) { return machine_.short_of_memory(entry.first); });
}

// Shares

void world::look_at_shares() {
  if (settings_.rule != policy::fair_share) return;
  std::set<std::uint64_t> tenants;
  for (const auto id : waiting()) tenants.insert(live_.at(id).options.tenant);
  fairness_.look(tenants);
}

// Deadlines

/// False where the verb was refused because the run would come too late.
bool world::accepted_time(mirror& begun, bool somewhere, const std::function<void()>& verb) {
  begun.asked = now_;
  try {
    verb();
  } catch (const deadline_unreachable& refusal) {
    say(refusal.what());
    seen_.visit(feature::deadline_unreachable);
    require(refusal.deadline() == begun.options.deadline && refusal.estimate() > refusal.deadline(),
            "a run was refused that would end in time");
    check_lateness(begun, somewhere, refusal.estimate());
    return false;
  }
  check_lateness(begun, somewhere, std::nullopt);
  fairness_.stays(begun.options.tenant, static_cast<int>(begun.tokens.size() + begun.encoder_input().size()));
  return true;
}

void world::check_lateness(const mirror& begun, bool somewhere, std::optional<time> refused) const {
  const auto pace = outlook_.pace();
  if (settings_.rule != policy::deadline || begun.options.deadline == time::max() || !pace)
    return require(!refused, "a run was refused without a reason");
  if (settings_.forks || settings_.growing || settings_.within.max_rollback_tokens != limits().max_rollback_tokens)
    return;  // it is not known what slots hold
  const double end = static_cast<double>(now_.count()) + tokens_until_end(begun, somewhere) * *pace;
  if (refused)
    require(std::abs(static_cast<double>(refused->count()) - end) < 0.51, "a run was refused for a wrong estimate");
  else
    require(end < static_cast<double>(begun.options.deadline.count()) + 0.51, "a late run was accepted");
  if (!refused) seen_.visit(feature::in_time);
}

/// By what runs have sampled so far.
/// What it has cached is in a slot, or swapped out.
bool world::is_somewhere(sequence_id id) const {
  return machine_.scheduled(id) || machine_.is_swapping_out(id) || live_.at(id).away;
}

double world::tokens_to_run(const mirror& seq, bool somewhere) const {
  const int cached = somewhere ? seq.reached : 0;
  const auto known = static_cast<double>(seq.tokens.size() + seq.ahead.size());
  const double fed = known - cached + (cached == 0 ? static_cast<double>(seq.encoder_input().size()) : 0);
  const auto left = static_cast<double>(seq.samples_left());
  if (left == 0) return fed;
  const double taken = seq.sampled_in_run() + static_cast<double>(seq.ahead.size());
  return fed - 1 + std::clamp(outlook_.samples() - taken, 1., left);
}

double world::tokens_until_end(const mirror& begun, bool somewhere) const {
  double tokens = tokens_to_run(begun, somewhere);
  for (const auto& [id, seq] : live_) {
    const auto where = machine_.phase_of(id);
    if (!seq.running) continue;
    const bool queued = where == phase::waiting || where == phase::prefilling;
    if (where == phase::decoding || (queued && seq.options.deadline <= begun.options.deadline))
      tokens += tokens_to_run(seq, is_somewhere(id));
  }
  return tokens;
}

bool world::left_behind(const step& plan) const {
  return std::ranges::any_of(live_, [&](const auto& entry) {
    const auto where = machine_.phase_of(entry.first);
    const bool in_plan = std::ranges::any_of(plan.rows, [&](const row& row) { return row.sequence == entry.first; });
    return where == phase::waiting || where == phase::prefilling || (where == phase::decoding && !in_plan);
  });
}

}  // namespace cogen::scheduler::simulate
