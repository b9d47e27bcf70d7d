#include "snapshot.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

void check(const snapshot& stored, int tokens) {
  if (stored.cached >= 1 && stored.cached <= tokens && stored.cached <= stored.length && stored.length <= stored.reach)
    return;
  throw std::invalid_argument("a snapshot of " + std::to_string(stored.length) + " tokens that reached " +
                              std::to_string(stored.reach) + " cannot have " + std::to_string(stored.cached) +
                              " of the " + std::to_string(tokens) + " tokens of a sequence");
}

}  // namespace

kept_snapshot snapshot_of(const sequence& seq) {
  return {seq.away->name, {seq.away->length, seq.cached, seq.away->reach, seq.away->exact}};
}

kept_snapshot copy_out(state& sched, sequence& seq) {
  const slot& source = sched.slots[seq.slot];
  const auto name = sched.swapped_out.copy_out(seq.id, seq.slot, source.length);
  seq.away = {name, away::stage::copied, source.length, source.reach};
  sched.slots.begin_transfer(seq.slot);
  sched.queued.place(seq);
  return snapshot_of(seq);
}

void give_past(sequence& added, const resume_state& history) {
  const auto tokens = static_cast<int>(history.tokens.size());
  if (tokens > added.capacity)
    throw std::length_error("the sequence holds " + std::to_string(tokens) + " tokens; it may hold " +
                            std::to_string(added.capacity));
  if (history.sampled < 0)
    throw std::invalid_argument("sampled is " + std::to_string(history.sampled) + "; it must be at least 0");
  if (history.snapshot) check(*history.snapshot, tokens);
  added.tokens = token_list(history.tokens);
  added.sampled = history.sampled;
  added.exact = history.exact;
  if (!history.snapshot || history.snapshot->length > added.capacity) return;
  added.cached = history.snapshot->cached;
  added.away = {swap_id{}, away::stage::stored, history.snapshot->length, history.snapshot->reach,
                history.snapshot->exact};
}

void accept_snapshot(state& sched, sequence& seq) {
  auto stored = std::exchange(seq.away, std::nullopt);
  const int cached = std::exchange(seq.cached, 0);
  if (!stored || sched.within.swap_bytes == 0) return;
  const auto bytes = sched.within.usage(stored->length);
  if (!sched.swapped_out.fits(bytes)) return;
  stored->name = sched.swapped_out.add(bytes);
  seq.away = stored;
  seq.cached = cached;
}

}  // namespace cogen::scheduler
