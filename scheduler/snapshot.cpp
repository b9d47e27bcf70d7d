#include "snapshot.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

void check(const snapshot& of, int tokens) {
  if (of.cached >= 1 && of.cached <= tokens && of.cached <= of.length && of.length <= of.reach) return;
  throw std::invalid_argument("a snapshot of " + std::to_string(of.length) + " tokens that reached " +
                              std::to_string(of.reach) + " cannot have " + std::to_string(of.cached) + " of the " +
                              std::to_string(tokens) + " tokens of a sequence");
}

}  // namespace

kept_snapshot snapshot_of(const sequence& seq) {
  return {seq.away->name, {seq.away->length, seq.cached, seq.away->reach, seq.away->exact}};
}

kept_snapshot copy_out(state& all, sequence& seq) {
  const slot& from = all.slots[seq.slot];
  const auto name = all.swapped_out.copy_out(seq.id, seq.slot, from.length);
  seq.away = {name, away::stage::copied, from.length, from.reach};
  all.slots.begin_transfer(seq.slot);
  all.queued.place(seq);
  return snapshot_of(seq);
}

void give_past(sequence& added, const resume_state& before) {
  const auto tokens = static_cast<int>(before.tokens.size());
  if (tokens > added.capacity)
    throw std::length_error("the sequence holds " + std::to_string(tokens) + " tokens; it may hold " +
                            std::to_string(added.capacity));
  if (before.sampled < 0)
    throw std::invalid_argument("sampled is " + std::to_string(before.sampled) + "; it must be at least 0");
  if (before.snapshot) check(*before.snapshot, tokens);
  added.tokens = token_list(before.tokens);
  added.sampled = before.sampled;
  added.exact = before.exact;
  if (!before.snapshot || before.snapshot->length > added.capacity) return;
  added.cached = before.snapshot->cached;
  added.away = {swap_id{}, away::stage::stored, before.snapshot->length, before.snapshot->reach,
                before.snapshot->exact};
}

void accept_snapshot(state& all, sequence& seq) {
  auto stored = std::exchange(seq.away, std::nullopt);
  const int cached = std::exchange(seq.cached, 0);
  if (!stored || all.within.swap_bytes == 0) return;
  const auto bytes = all.within.usage(stored->length);
  if (!all.swapped_out.fits(bytes)) return;
  stored->name = all.swapped_out.add(bytes);
  seq.away = stored;
  seq.cached = cached;
}

}  // namespace cogen::scheduler
