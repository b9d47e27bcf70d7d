#include "snapshot.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

void check(const snapshot& stored, int tokens) {
  if (stored.cached >= 1 && stored.cached <= tokens && stored.cached <= stored.length &&
      stored.length <= stored.high_water_mark)
    return;
  throw std::invalid_argument("a snapshot of " + std::to_string(stored.length) + " tokens that reached " +
                              std::to_string(stored.high_water_mark) + " cannot have " + std::to_string(stored.cached) +
                              " of the " + std::to_string(tokens) + " tokens of a sequence");
}

}  // namespace

kept_snapshot snapshot_of(const sequence& seq) {
  return {seq.swapped->name, {seq.swapped->length, seq.cached, seq.swapped->high_water_mark, seq.swapped->exact}};
}

kept_snapshot copy_out(state& sched, sequence& seq) {
  const slot& source = sched.slots[seq.slot];
  const auto name = sched.swapped_out.copy_out(seq.id, seq.slot, source.length);
  seq.swapped = {name, swap_state::stage::copied, source.length, source.high_water_mark};
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
  added.swapped = {swap_id{}, swap_state::stage::stored, history.snapshot->length, history.snapshot->high_water_mark,
                   history.snapshot->exact};
}

void accept_snapshot(state& sched, sequence& seq) {
  auto stored = std::exchange(seq.swapped, std::nullopt);
  const int cached = std::exchange(seq.cached, 0);
  if (!stored || sched.within.swap_bytes == 0) return;
  const auto bytes = sched.within.usage(stored->length);
  if (!sched.swapped_out.fits(bytes)) return;
  stored->name = sched.swapped_out.add(bytes);
  seq.swapped = stored;
  seq.cached = cached;
}

}  // namespace cogen::scheduler
