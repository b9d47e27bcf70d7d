#include "scheduler/no_memory.hpp"
#include "simulation/require.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler::simulate {

/// What was preempted is swapped out by the next plan or lost, and what is restored had been swapped out.
void world::note_transfers(const step& plan) {
  for (const auto& each : plan.swap_outs) {
    if (each.is_copy) {
      seen_.visit(feature::copied_out);
      continue;
    }
    seen_.visit(feature::swapped_out);
    ++swapped_;
    const auto found = live_.find(each.sequence);
    if (found == live_.end() || !found->second.preempted) continue;
    found->second.preempted = false;
    if (!machine_.is_swapping_out(each.sequence)) continue;  // it has been cut to nothing since
    found->second.away = each.name;
    found->second.moves = mirror::stage::leaving;
  }
  for (auto& [id, seq] : live_) {
    if (!std::exchange(seq.preempted, false)) continue;
    seq.reached = 0;
    if (settings_.within.swap_bytes > 0) seen_.visit(feature::not_swapped_out);
  }
  for (const auto& each : plan.swap_ins) {
    seen_.visit(feature::swapped_in);
    const auto found = live_.find(each.sequence);
    if (found == live_.end() || !found->second.away || !machine_.scheduled(each.sequence))
      continue;  // it has left again
    auto& seq = found->second;
    require(seq.away == each.name && seq.moves == mirror::stage::swapped_out, "what is restored was not swapped out");
    seq.moves = mirror::stage::returning;
    seq.scheduled = true;
  }
  for (std::size_t i = 0; i < plan.drops.size(); ++i) seen_.visit(feature::dropped);
  require(machine_.swapped_out() == swapped_, "those that were swapped out are miscounted");
}

bool world::end_transfer() {
  const auto names = runner_.cache().on_their_way();
  if (names.empty()) return false;
  const auto name = names[static_cast<std::size_t>(chance_.between(0, static_cast<int>(names.size()) - 1))];
  const bool ok = !chance_.chance(losing_);
  say("transfer " + std::to_string(static_cast<std::uint64_t>(name)) + (ok ? " ends" : " fails"));
  runner_.end(name, ok);
  const auto end = [&] {
    const no_memory none;
    return machine_.on_swap_done(name, ok);
  }();
  require(!end.is_current || live_.contains(end.sequence), "a transfer is said to be of a sequence that has gone");
  end_copy(name, ok);
  end_prefix_transfer(name, ok);
  for (auto& [id, seq] : live_) {
    if (seq.away != name) continue;
    const bool left = seq.moves == mirror::stage::leaving;
    if (!ok) {
      seen_.visit(left ? feature::lost_leaving : feature::lost_returning);
      seq.reached = 0;
      seq.scheduled &= seq.running && !left;
    }
    seq.moves = mirror::stage::swapped_out;
    if (!ok || !left) seq.away.reset();
  }
  check_sequences();
  return true;
}

/// Only right after a plan, which tells of everything that is dropped.
void world::check_swapped() const {
  require(machine_.swap_in_use() == runner_.cache().swapped_bytes(), "the account of the swapped out is wrong");
  require(machine_.swap_in_use() <= settings_.within.swap_bytes, "more is swapped out than there is room for");
}

}  // namespace cogen::scheduler::simulate
