#include "simulation/require.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler::simulate {

void world::copy_out(sequence_id id) {
  visit(id, verb::copy_out);
  say("copy out " + text(id));
  auto* const seq = const_cast<mirror*>(find(id));
  const bool stored = seq && machine_.stored(id);
  const bool possible = seq && !seq->running && machine_.scheduled(id) && !machine_.in_transfer(id);
  const auto copy = when_memory_allows([&] { return machine_.copy_out(id); });
  require(copy.has_value() == possible, text(id) + " was copied out, or was not, against the contract");
  const bool away = seq && seq->away && !machine_.scheduled(id) && !machine_.in_transfer(id);
  require(away || !stored, text(id) + " is stored against the contract");
  require(!away || stored || seq->reached == 0, text(id) + " is not stored against the contract");
  const auto at_hand = possible ? copy : stored ? machine_.stored(id) : std::nullopt;
  if (at_hand) {
    session begun{seq->options, {seq->tokens, seq->sampled, at_hand->snapshot, machine_.exact(id)}, {}};
    if (possible) {
      seq->copied = at_hand->name;
      seq->idle_since.reset();
      copies_[at_hand->name] = std::move(begun);
    } else if (!seq->running) {
      begun.snapshot = runner_.cache().kept(at_hand->name);
      seen_.visit(feature::copied_stored);
      keep_session(std::move(begun));
    }
  }
  check_sequences();
}

void world::end_copy(swap_id name, bool ok) {
  const auto found = copies_.extract(name);
  if (!found) return;
  for (auto& [id, seq] : live_)
    if (seq.copied == name) seq.copied.reset();
  if (!ok) return seen_.visit(feature::copy_lost);
  found.mapped().snapshot = runner_.cache().kept(name);
  keep_session(std::move(found.mapped()));
}

void world::keep_session(session added) {
  constexpr std::size_t most = 4;
  const auto& said = *added.history.snapshot;
  const auto& held = added.snapshot.tokens;
  // What a slot is filled from counts as further by what runs in it in the same plan.
  require(static_cast<int>(held.size()) == said.length && added.snapshot.high_water_mark <= said.high_water_mark,
          "another snapshot is kept than was reported");
  require(said.cached <= static_cast<int>(added.history.tokens.size()) && said.cached <= said.length &&
              std::equal(held.begin(), held.begin() + said.cached, added.history.tokens.begin()),
          "a snapshot holds other tokens than its sequence");
  require(!added.snapshot.altered || !said.exact || !added.history.exact, "a snapshot is said to be exact and is not");
  sessions_.push_back(std::move(added));
  if (sessions_.size() > most) sessions_.pop_front();
}

bool world::open() {
  if (sessions_.empty()) return false;
  const auto& source = sessions_[static_cast<std::size_t>(chance_.between(0, static_cast<int>(sessions_.size()) - 1))];
  mirror added(source.options, capacity_of(source.options, nullptr));
  added.tokens = source.history.tokens;
  added.sampled = source.history.sampled;
  say("open a sequence of " + std::to_string(added.tokens.size()) + " tokens, " +
      std::to_string(source.history.snapshot->cached) + " of them cached");
  const auto swap_bytes = settings_.within.swap_bytes;
  const auto bytes = settings_.within.usage(source.history.snapshot->length);
  const bool fits = swap_bytes > 0 && machine_.swap_in_use() + bytes <= swap_bytes;
  const auto id = when_memory_allows([&] { return machine_.resume(source.options, source.history); });
  const auto kept = machine_.stored(id);
  require(kept.has_value() == fits, text(id) + " is stored, or is not, against its room");
  if (kept) {
    runner_.keep(kept->name, source.snapshot);
    added.away = kept->name;
    added.opened = true;
    added.reached = source.history.snapshot->cached;
  }
  seen_.visit(fits ? feature::opened : feature::opened_without_room);
  accepted(id, std::move(added));
  return true;
}

}  // namespace cogen::scheduler::simulate
