#include "scheduler/no_memory.hpp"
#include "simulation/require.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler::simulate {

/// What was parked is spilled by the next plan or lost, and what is restored had been spilled.
void world::note_transfers(const plan& made) {
  for (const auto& each : made.spills) {
    if (each.beside) {
      seen_.visit(feature::copied_out);
      continue;
    }
    seen_.visit(feature::spilled);
    ++spilled_;
    const auto found = live_.find(each.sequence);
    if (found == live_.end() || !found->second.parked) continue;
    found->second.parked = false;
    if (!machine_.leaving(each.sequence)) continue;  // it has been cut to nothing since
    found->second.away = each.name;
    found->second.moves = mirror::stage::leaving;
  }
  for (auto& [id, each] : live_) {
    if (!std::exchange(each.parked, false)) continue;
    each.reached = 0;
    if (settings_.within.spill_bytes > 0) seen_.visit(feature::not_spilled);
  }
  for (const auto& each : made.restores) {
    seen_.visit(feature::restored);
    const auto found = live_.find(each.sequence);
    if (found == live_.end() || !found->second.away || !machine_.seated(each.sequence)) continue;  // it has left again
    auto& whose = found->second;
    require(whose.away == each.name && whose.moves == mirror::stage::spilled, "what is restored was not spilled");
    whose.moves = mirror::stage::returning;
    whose.seated = true;
  }
  for (std::size_t i = 0; i < made.drops.size(); ++i) seen_.visit(feature::dropped);
  require(machine_.spilled() == spilled_, "those that were spilled are miscounted");
}

bool world::end_transfer() {
  const auto names = runner_.cache().on_their_way();
  if (names.empty()) return false;
  const auto name = names[static_cast<std::size_t>(chance_.between(0, static_cast<int>(names.size()) - 1))];
  const bool ok = !chance_.chance(losing_);
  say("transfer " + std::to_string(static_cast<std::uint64_t>(name)) + (ok ? " ends" : " fails"));
  runner_.end(name, ok);
  {
    const no_memory none;
    machine_.transferred(name, ok);
  }
  end_copy(name, ok);
  for (auto& [id, whose] : live_) {
    if (whose.away != name) continue;
    const bool left = whose.moves == mirror::stage::leaving;
    if (!ok) {
      seen_.visit(left ? feature::lost_leaving : feature::lost_returning);
      whose.reached = 0;
      whose.seated &= whose.running && !left;
    }
    whose.moves = mirror::stage::spilled;
    if (!ok || !left) whose.away.reset();
  }
  check_sequences();
  return true;
}

/// Only right after a plan, which tells of everything that is dropped.
void world::check_spilled() const {
  require(machine_.spill_in_use() == runner_.cache().spilled_bytes(), "the account of the spilled is wrong");
  require(machine_.spill_in_use() <= settings_.within.spill_bytes, "more is spilled than there is room for");
}

}  // namespace cogen::scheduler::simulate
