#include "simulation/require.hpp"
#include "simulation/world.hpp"

namespace cogen::scheduler::simulate {

/// Tokens go from slot to slot between those sequences alone that may share, or are forks of each other.
void world::note_marks(const step& made) {
  const auto mark_of = [&](sequence_id id) {
    const auto& options = live_.at(id).options;
    return mark{options.prefix_caching && !options.encoder_input, options.cache_salt};
  };
  for (const int slot : made.clears) marks_.erase(slot);
  for (const auto& each : made.prefix_shares) marks_[each.slot] = marks_.at(each.of);
  for (const auto& each : made.copies) marks_[each.to] = marks_.at(each.from);
  for (const auto& each : made.swap_ins)
    if (live_.contains(each.sequence)) marks_[each.slot] = mark_of(each.sequence);
  for (const auto& each : made.rows) {
    const bool holds = runner_.cache().length(each.slot) > 0 && marks_.contains(each.slot);
    const auto own = mark_of(each.sequence);
    require(!holds || marks_.at(each.slot) == own, "a slot holds what is not to be shared with its sequence");
    marks_[each.slot] = own;
  }
  const int kept = machine_.prefix_cached_slots();
  if (kept > kept_) seen_.visit(feature::branch_kept);
  if (kept < kept_ && !made.clears.empty()) seen_.visit(feature::given_up);
}

/// Its row begins further on than it has ever come, or had come before it lost what it had.
void world::note_prefix_hit(const row& planned, int begin, const mirror& seq) {
  if (seq.away || begin <= seq.reached) return;
  require(settings_.within.prefix_caching && seq.options.prefix_caching && !seq.options.encoder_input,
          "it begins with what it never ran");
  seen_.visit(feature::prefix_hit_tokens);
  if (runner_.cache().shared(planned.slot) == 0) seen_.visit(feature::taken_over);
  if (seq.began) return;
  require(machine_.prefix_hit_tokens(planned.sequence) == begin,
          "it is reported to have begun with another number of tokens");
  if (begin > 0) seen_.visit(feature::reused_when_it_came);
}

}  // namespace cogen::scheduler::simulate
