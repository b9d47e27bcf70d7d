#include "simulation/require.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler::simulate {

void world::copy_out(sequence_id id) {
  visit(id, verb::copy_out);
  say("copy out " + text(id));
  auto* const whose = const_cast<mirror*>(find(id));
  const bool stored = whose && machine_.stored(id);
  const bool possible = whose && !whose->running && machine_.seated(id) && !machine_.moving(id);
  const auto made = when_memory_allows([&] { return machine_.copy_out(id); });
  require(made.has_value() == possible, text(id) + " was copied out, or was not, against the contract");
  const bool away = whose && whose->away && !machine_.seated(id) && !machine_.moving(id);
  require(away || !stored, text(id) + " is stored against the contract");
  require(!away || stored || whose->reached == 0, text(id) + " is not stored against the contract");
  const auto at_hand = possible ? made : stored ? machine_.stored(id) : std::nullopt;
  if (at_hand) {
    session begun{whose->options, {whose->tokens, whose->sampled, at_hand->image, machine_.exact(id)}, {}};
    if (possible) {
      whose->copied = at_hand->name;
      whose->rested.reset();
      copies_[at_hand->name] = std::move(begun);
    } else if (!whose->running) {
      begun.image = runner_.cache().kept(at_hand->name);
      seen_.visit(feature::copied_stored);
      keep_session(std::move(begun));
    }
  }
  check_sequences();
}

void world::end_copy(ticket name, bool ok) {
  const auto found = copies_.extract(name);
  if (!found) return;
  for (auto& [id, whose] : live_)
    if (whose.copied == name) whose.copied.reset();
  if (!ok) return seen_.visit(feature::copy_lost);
  found.mapped().image = runner_.cache().kept(name);
  keep_session(std::move(found.mapped()));
}

void world::keep_session(session made) {
  constexpr std::size_t most = 4;
  const auto& said = *made.before.image;
  const auto& held = made.image.tokens;
  // What a slot is filled from counts as further by what runs in it in the same plan.
  require(static_cast<int>(held.size()) == said.length && made.image.reach <= said.reach,
          "another image is kept than was told");
  require(said.cached <= static_cast<int>(made.before.tokens.size()) && said.cached <= said.length &&
              std::equal(held.begin(), held.begin() + said.cached, made.before.tokens.begin()),
          "an image holds other tokens than its sequence");
  require(!made.image.altered || !said.exact || !made.before.exact, "an image is told to be exact and is not");
  sessions_.push_back(std::move(made));
  if (sessions_.size() > most) sessions_.pop_front();
}

bool world::open() {
  if (sessions_.empty()) return false;
  const auto& from = sessions_[static_cast<std::size_t>(chance_.between(0, static_cast<int>(sessions_.size()) - 1))];
  mirror added(from.options, capacity_of(from.options, nullptr));
  added.tokens = from.before.tokens;
  added.sampled = from.before.sampled;
  say("open a sequence of " + std::to_string(added.tokens.size()) + " tokens, " +
      std::to_string(from.before.image->cached) + " of them cached");
  const auto spill_bytes = settings_.within.spill_bytes;
  const auto bytes = settings_.within.usage(from.before.image->length);
  const bool fits = spill_bytes > 0 && machine_.spill_in_use() + bytes <= spill_bytes;
  const auto id = when_memory_allows([&] { return machine_.resume(from.options, from.before); });
  const auto kept = machine_.stored(id);
  require(kept.has_value() == fits, text(id) + " is stored, or is not, against its room");
  if (kept) {
    runner_.keep(kept->name, from.image);
    added.away = kept->name;
    added.opened = true;
    added.reached = from.before.image->cached;
  }
  seen_.visit(fits ? feature::opened : feature::opened_without_room);
  taken_in(id, std::move(added));
  return true;
}

}  // namespace cogen::scheduler::simulate
