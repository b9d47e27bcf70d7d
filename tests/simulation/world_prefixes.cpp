#include "simulation/require.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler::simulate {

/// Tokens go from slot to slot between those sequences alone that may share, or are forks of each other.
void world::note_marks(const step& plan) {
  const auto mark_of = [&](sequence_id id) {
    const auto& options = live_.at(id).options;
    return mark{options.prefix_caching && !options.encoder_input, options.cache_salt};
  };
  for (const int slot : plan.clears) marks_.erase(slot);
  for (const auto& each : plan.forks) {
    marks_[each.slot] = marks_.at(each.source);
    if (each.shared > 0)
      require(marks_.at(each.parent) == marks_.at(each.source),
              "a slot reads what is not to be shared with its source");
  }
  for (const auto& each : plan.swap_ins) {
    if (live_.contains(each.sequence)) marks_[each.slot] = mark_of(each.sequence);
    if (const auto prefix = restored_.find(each.name); prefix != restored_.end()) marks_[each.slot] = prefix->second;
  }
  for (const auto& each : plan.rows) {
    const bool holds = runner_.cache().length(each.slot) > 0 && marks_.contains(each.slot);
    const auto own = mark_of(each.sequence);
    require(!holds || marks_.at(each.slot) == own, "a slot holds what is not to be shared with its sequence");
    marks_[each.slot] = own;
  }
  const int kept = machine_.prefix_cached_slots();
  if (kept > kept_) seen_.visit(feature::branch_kept);
  if (kept < kept_ && !plan.clears.empty()) seen_.visit(feature::given_up);
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

void world::save_prefixes() {
  say("copy out what is kept");
  for (auto& each : when_memory_allows([&] { return machine_.copy_out_prefixes(); })) {
    seen_.visit(feature::prefix_copied_out);
    const auto name = each.name;
    prefix_copies_[name] = {std::move(each), {}};
  }
  check_sequences();
}

bool world::restore_prefix() {
  if (prefixes_.empty()) return false;
  const auto& source = prefixes_[static_cast<std::size_t>(chance_.between(0, static_cast<int>(prefixes_.size()) - 1))];
  say("restore a prefix of " + std::to_string(source.prefix.tokens.size()) + " tokens");
  const auto name = when_memory_allows([&] { return machine_.restore_prefix(source.prefix); });
  seen_.visit(name ? feature::prefix_restored : feature::prefix_without_room);
  if (name) {
    runner_.keep(*name, source.snapshot, true);
    restored_[*name] = {true, source.prefix.cache_salt};
  }
  check_sequences();
  return true;
}

void world::end_prefix_transfer(swap_id name, bool ok) {
  constexpr std::size_t most = 4;
  if (restored_.erase(name) > 0 && !ok) seen_.visit(feature::prefix_lost);
  const auto found = prefix_copies_.extract(name);
  if (!found || !ok) return;
  auto& copy = found.mapped();
  copy.snapshot = runner_.cache().kept(name);
  const auto& held = copy.snapshot.tokens;
  const auto& tokens = copy.prefix.tokens;
  require(std::cmp_equal(held.size(), copy.prefix.snapshot.length) &&
              copy.snapshot.high_water_mark <= copy.prefix.snapshot.high_water_mark,
          "another copy is made of a prefix than was reported");
  require(held.size() >= tokens.size() && std::equal(tokens.begin(), tokens.end(), held.begin()),
          "a copy holds other tokens than its prefix");
  require(!copy.snapshot.altered, "a prefix is kept that is not exact");
  prefixes_.push_back(std::move(copy));
  if (prefixes_.size() > most) prefixes_.pop_front();
}

}  // namespace cogen::scheduler::simulate
