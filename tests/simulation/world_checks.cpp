#include "simulation/require.hpp"
#include "simulation/rules.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <numeric>

namespace cogen::scheduler::simulate {
namespace {

int all_logits_tokens(const step& plan) {
  return std::accumulate(plan.rows.begin(), plan.rows.end(), 0, [](int sum, const row& row) {
    return row.wanted == output::all_logits ? sum + row.count : sum;
  });
}

/// Steps in which each slot has had a token, where decode rows alone have all but what is kept for prefill.
int turns_of(const limits& within, int step_tokens) {
  const int rows = std::max(1, step_tokens - std::max(1, step_tokens / 8));
  return (within.slots + rows - 1) / rows * (step_tokens == 1 ? 2 : 1);
}

}  // namespace

// Rows

void world::check_rows(flown& flight) {
  std::set<sequence_id> sequences;
  std::set<int> slots;
  int tokens = 0, known = 0, drafts = 0, samples = 0;
  bool awaited = false;
  for (std::size_t i = 0; i < flight.step.rows.size(); ++i) {
    const auto& row = flight.step.rows[i];
    require(sequences.insert(row.sequence).second, text(row.sequence) + " has two rows in one step");
    require(slots.insert(row.slot).second, "slot " + std::to_string(row.slot) + " has two rows in one step");
    flight.rows.push_back(check_row(flight.step, row, runner_.contents()[i]));
    require(std::ranges::equal(runner_.encoder_inputs()[i], live_.at(row.sequence).encoder_input()),
            text(row.sequence) + ": the slot has read another encoder input than the sequence's");
    if (row.encoder_input) seen_.visit(feature::encoder_read);
    tokens += row.count;
    awaited |= row.chained;
    if (row.wanted == output::sample) {
      require(row.first_sample == samples, text(row.sequence) + ": a row has another one's samples");
      samples += 1 + row.drafts;
    }
    if (row.chained) continue;
    require(row.first == known, text(row.sequence) + ": a row's tokens do not follow those of the row before it");
    known += row.count;
    drafts += row.drafts;
  }
  require(drafts <= settings_.within.max_draft_tokens, "a step has more draft tokens than it may");
  require(std::cmp_equal(flight.step.sampled.size(), samples), "a step has samples that are in none of its rows");
  require(flight.step.tokens.size() == static_cast<std::size_t>(known),
          "a step has tokens that are in none of its rows");
  const auto& within = settings_.within;
  require(tokens <= std::max(within.max_batched_tokens, awaited ? 0 : within.prefill_tokens),
          "a step has more tokens than it may");
  require(all_logits_tokens(flight.step) <= within.max_all_logits_tokens,
          "a step has more tokens for all logits than it may");
}

void world::check_drafts(const step& plan, const row& planned, const mirror& seq, bool is_last) {
  const auto who = text(planned.sequence);
  const auto drafts = plan.drafts_of(planned);
  require(planned.wanted == output::sample && is_last && !planned.chained,
          who + ": a row has drafts and samples nothing");
  require(planned.drafts <= seq.max_drafts(), who + ": a row has more drafts than may be sampled");
  require(drafts.size() <= seq.drafts.size() && std::ranges::equal(drafts, std::span(seq.drafts).first(drafts.size())),
          who + ": a row has other drafts than were proposed");
}

world::row_flown world::check_row(const step& plan, const row& planned, std::span<const token> content) {
  const auto who = text(planned.sequence);
  const auto found = live_.find(planned.sequence);
  require(found != live_.end(), who + " has a row and is not there");
  mirror& seq = found->second;
  require(seq.may_run(), who + " has a row and nothing to run, or no credits");

  const auto known = seq.with_ahead();
  content = content.first(content.size() - static_cast<std::size_t>(planned.drafts));
  const int end = static_cast<int>(content.size());
  require(content.size() <= known.size() && std::equal(content.begin(), content.end(), known.begin()),
          who + ": the slot holds other tokens than the sequence");
  const bool altered = runner_.cache().altered(planned.slot);
  require(!altered || !machine_.exact(planned.sequence), who + " goes on inexactly and is said to be exact");
  if (altered) seen_.visit(feature::inexact);
  const bool ahead = content.size() > seq.tokens.size();
  require(planned.chained == ahead, who + ": a row is chained that should not be, or the other way round");
  const int count = planned.count - planned.drafts;
  require(planned.position == end - count, who + ": a row does not begin where its slot ends");
  require(count >= 1 && (!ahead || count == 1), who + ": a row miscounts its tokens");
  require(!ahead || (settings_.within.depth == 2 && !in_flight_.empty()), who + ": a row is chained to nothing");
  require(planned.wanted == seq.wanted_at(end), who + ": a row wants something else than the run");
  const bool is_last = end == static_cast<int>(known.size());
  require(planned.prefill || (count == 1 && is_last), who + ": a row that prefills is said to decode");
  require(!planned.prefill || count > 1 || !is_last || seq.prefills, who + ": a decode row is said to prefill");
  const auto next = std::cmp_less(end, seq.tokens.size()) ? seq.tokens[static_cast<std::size_t>(end)] : -1;
  require(planned.next == next, who + ": another token follows a row than the sequence has there");
  if (planned.drafts > 0) check_drafts(plan, planned, seq, is_last);
  seq.prefills = !is_last;

  if (planned.wanted == output::sample) seq.planned_sample(planned, plan.sampled_of(planned));
  if (seq.slot >= 0 && seq.slot != planned.slot) seen_.visit(feature::moved);
  note_prefix_hit(planned, end - count, seq);
  seq.slot = planned.slot;
  seq.began = true;
  seq.scheduled = true;
  seq.reached = end;
  require(!seq.away || seq.moves == mirror::stage::swapped_out, who + " has a row while it is on its way");
  require(!seq.copied, who + " has a row while it is copied");
  seq.away.reset();
  const int ran = planned.count + (planned.encoder_input ? static_cast<int>(planned.encoder_input->size()) : 0);
  fairness_.ran(seq.options.tenant, ran);
  fairness_.stays(seq.options.tenant, seq.stay += ran);
  ++seq.rows_in_flight;
  return {seq.number, end};
}

// Service

std::set<sequence_id> world::waiting() const {
  std::set<sequence_id> result;
  for (const auto& [id, seq] : live_)
    if (machine_.phase_of(id) == phase::waiting) result.insert(id);
  return result;
}

void world::check_no_overtaking(const std::set<sequence_id>& waited) {
  for (const auto still : waited) {
    if (machine_.phase_of(still) != phase::waiting) continue;
    for (const auto other : waited) {
      if (machine_.phase_of(other) == phase::waiting) continue;
      require(may_overtake(other, still), text(other) + " has overtaken " + text(still) + ", which waits");
      if (live_.at(other).number > live_.at(still).number) seen_.visit(feature::overtaken);
    }
  }
}

void world::check_waiting(bool nothing_planned) {
  const auto ids = waiting();
  require(static_cast<int>(ids.size()) == machine_.waiting(), "those that wait are miscounted");
  if (ids.empty()) {
    head_fits_ = 0;
    return;
  }
  const auto heads = firsts(ids);
  const bool fit = std::ranges::all_of(heads, [&](sequence_id id) { return fits(id); });
  head_fits_ = fit ? head_fits_ + 1 : 0;
  require(head_fits_ < (nothing_planned ? 1 : 2), text(heads.front()) + " waits although it fits");
}

void world::check_service(const step& plan, const std::set<sequence_id>& waited) {
  const int tokens = std::accumulate(plan.rows.begin(), plan.rows.end(), 0, [](int sum, const row& row) {
    return sum + row.count + (row.encoder_input ? static_cast<int>(row.encoder_input->size()) : 0);
  });
  std::set<sequence_id> served, prefilling;
  for (const auto& each : plan.rows) served.insert(each.sequence);
  for (auto& [id, seq] : live_) {
    const auto where = machine_.phase_of(id);
    const bool awaits_prefix = machine_.awaits_prefix(id);
    if (awaits_prefix) seen_.visit(feature::followed);
    require(!awaits_prefix || !plan.empty(), text(id) + " waits for another one, and nothing is planned");
    const bool waits = awaits_prefix || machine_.short_of_memory(id);
    const bool could = (where == phase::prefilling || where == phase::decoding) && !waits;
    seq.unserved = could && !served.contains(id) ? seq.unserved + 1 : 0;
    if (where == phase::waiting && seq.slot >= 0) {
      seen_.visit(feature::lost_its_slot);
      seq.slot = -1;
      if (!seq.away) seq.reached = 0;
    }
    if (where == phase::prefilling && !waits) prefilling.insert(id);
    check_idle_timeout(plan, tokens, id, seq);
  }
  check_prefill(prefilling, served, waited);
  check_short(plan);
}

/// A sequence that is short of memory waits for something that ends.
void world::check_short(const step& plan) {
  if (!any_is_short()) return;
  seen_.visit(feature::short_of_memory);
  require(settings_.growing, "a sequence is short of memory that was reserved for it");
  const bool awaits_late = std::ranges::any_of(live_, [](const auto& entry) { return entry.second.late; });
  require(!plan.empty() || !in_flight_.empty() || !runner_.cache().on_their_way().empty() || awaits_late,
          "a sequence is short of memory, and nothing is on its way");
}

/// The first of those that are prefilled has a row soon. But others may come and go before it; where the
/// first come is first served, only such as had waited for a slot.
void world::check_prefill(const std::set<sequence_id>& prefilling, const std::set<sequence_id>& served,
                          const std::set<sequence_id>& waited) {
  if (prefilling.empty() || settings_.rule == policy::fair_share) return;
  const auto first = firsts(prefilling).front();
  const bool preceded = std::ranges::any_of(served, [&](sequence_id id) {
    const bool may = settings_.rule != policy::fcfs || waited.contains(id);
    return may && live_.contains(id) && precedes(id, first);
  });
  first_unserved_ = first == first_prefilling_ && !served.contains(first) && !preceded ? first_unserved_ + 1 : 0;
  first_prefilling_ = first;
  require(first_unserved_ <= 3, text(first) + " comes first and is not prefilled");
}

void world::check_idle_timeout(const step& plan, int tokens, sequence_id id, mirror& seq) {
  if (seq.unserved == 0) return;
  const auto& within = settings_.within;
  require(!plan.empty(), text(id) + " could run, and nothing is planned");
  const bool hurried =
      within.target_step_latency != limits().target_step_latency && machine_.phase_of(id) == phase::prefilling;
  const bool halved = within.depth == 2 && !within.run_ahead && machine_.phase_of(id) == phase::decoding;
  const bool without_logits =
      seq.wanted == output::all_logits && all_logits_tokens(plan) == within.max_all_logits_tokens;
  if (without_logits) seen_.visit(feature::without_logits);
  const int most = halved ? 3 : 1;  // half of those that decode, half of the rest, and so on
  require(
      tokens >= within.max_batched_tokens || seq.unserved <= most || without_logits || (hurried && !plan.rows.empty()),
      text(id) + " could run, and there is room in the plan");
  if (machine_.phase_of(id) != phase::decoding) return;
  int turns = turns_of(within, within.max_batched_tokens);
  if (seq.wanted == output::all_logits) turns += turns_of(within, within.max_all_logits_tokens) - 1;
  require(seq.unserved <= turns + 2, text(id) + " decodes and does not get its turn");
}

// Memory and slots

void world::check_memory() {
  require(machine_.memory_in_use() <= settings_.within.memory_bytes, "more memory is set aside than there is");
  require(runner_.cache().bytes() <= machine_.memory_in_use(), "the cache takes more memory than is set aside");
  if (!settings_.forks && in_flight_.empty() && runner_.cache().on_their_way().empty()) check_account_without_forks();
}

void world::note_scheduled() {
  for (auto& [id, seq] : live_) {
    const auto where = machine_.phase_of(id);
    seq.scheduled |= where == phase::prefilling || where == phase::decoding;
    if (settings_.forks || settings_.growing) seq.scheduled = machine_.scheduled(id);
    require(machine_.scheduled(id) == seq.scheduled, text(id) + " has a slot, or has none, against the contract");
    if (!seq.scheduled) seq.stay = 0;
    if (!machine_.in_transfer(id)) seq.copied.reset();  // it has left the slot that is copied
    if (is_idle(id)) continue;
    seq.idle_since.reset();
  }
}

// Preemption

bool world::is_idle(sequence_id id) const {
  const auto where = machine_.phase_of(id);
  const auto& seq = live_.at(id);
  return machine_.scheduled(id) && !seq.away && !seq.copied && (where == phase::idle || where == phase::paused);
}

bool world::idle_long_enough(const mirror& seq) const {
  return seq.idle_since && now_ - *seq.idle_since >= settings_.within.idle_timeout;
}

void world::note_rest() {
  for (auto& [id, seq] : live_) seq.has_room = static_cast<int>(seq.with_ahead().size()) <= machine_.reserved(id);
  for (auto& [id, seq] : live_)
    if (is_idle(id) && !seq.idle_since) seq.idle_since = now_;
}

/// One that ran has lost its slot to one that was put above it.
bool world::was_displaced(sequence_id id, const mirror& seq, const std::set<sequence_id>& waited) const {
  if (seq.idle_since || !seq.scheduled || !seq.running) return false;
  return std::ranges::any_of(waited, [&](sequence_id above) {
    return live_.contains(above) && may_displace(settings_, {above, live_.at(above)}, {id, seq});
  });
}

bool world::has_another_above(sequence_id id) const {
  return std::ranges::any_of(live_, [&](const auto& other) {
    return other.first != id && other.second.running && !precedes(id, other.first);
  });
}

/// Only those idle for long have lost their slots, and only to others; or those that run, to others that
/// come before them. Where sequences fork, some move: it is not known then why one that runs has lost its slot. And one
/// that is displaced may have a slot again in the same plan, unseen.
void world::check_preempted(const std::set<sequence_id>& waited) {
  for (auto& [id, seq] : live_) {
    if (machine_.scheduled(id)) continue;
    if (settings_.growing && seq.scheduled) {
      seen_.visit(feature::made_way);
      require(settings_.forks || seq.idle_since || !seq.has_room || has_another_above(id),
              text(id) + " has left for one that comes later");
      seq.idle_since.reset();
      seq.preempted = true;
      continue;
    }
    const bool displaced = was_displaced(id, seq, waited);
    if (!seq.idle_since && !displaced) continue;
    if (displaced && settings_.forks) {
      seq.preempted = true;
      continue;
    }
    say(text(id) + (displaced ? " was displaced" : " was preempted"));
    require(displaced || idle_long_enough(seq), text(id) + " was preempted and has not been idle for long");
    require(!waited.empty() || settings_.forks, text(id) + " was preempted for no other");
    seen_.visit(displaced ? feature::displaced : feature::preempted);
    if (displaced) seq.displaced_at = requests_;
    seq.scheduled = false;
    seq.idle_since.reset();
    seq.preempted = true;
    ++preempted_;
  }
  if (settings_.growing || settings_.displacing) preempted_ = std::max(preempted_, machine_.preempted());
  require(machine_.preempted() == preempted_, "those that were preempted are miscounted");
}

/// No sequence runs that the first of those that wait may displace. One that was displaced itself displaces only what
/// was asked for later.
void world::check_ranks() const {
  if (!settings_.displacing || settings_.forks || settings_.growing || settings_.within.depth > 1) return;
  if (!runner_.cache().on_their_way().empty()) return;
  const auto heads = firsts(waiting());
  const auto may_wait = [&](sequence_id head) {
    return std::ranges::none_of(live_, [&](const auto& entry) { return has_to_leave_to(head, entry.first); });
  };
  require(heads.empty() || std::ranges::any_of(heads, may_wait), "runs wait for those that they may displace");
}

bool world::has_to_leave_to(sequence_id head, sequence_id id) const {
  const auto &above = live_.at(head), &seq = live_.at(id);
  if (!machine_.scheduled(id) || is_idle(id) || seq.last_asked <= above.displaced_at) return false;
  if (!may_displace(settings_, {head, above}, {id, seq})) return false;
  if (settings_.rule != policy::fair_share) return true;
  const bool has_run_its_prompt = machine_.phase_of(id) == phase::decoding && !seq.prefills && seq.stay > 0;
  return has_run_its_prompt && slots_of(seq.options.tenant) >= slots_of(above.options.tenant) + 2;
}

std::ptrdiff_t world::slots_of(std::uint64_t tenant) const {
  return std::ranges::count_if(live_, [&](const auto& entry) {
    return entry.second.options.tenant == tenant && machine_.scheduled(entry.first);
  });
}

/// No sequence waits for those that have been idle for long. Slots of plans in flight come later, and shared ones are
/// kept.
void world::check_idle_timeout_of_others(bool nothing_planned) const {
  if (machine_.waiting() == 0 || settings_.forks || settings_.growing || settings_.within.depth > 1) return;
  if (!runner_.cache().on_their_way().empty()) return;
  bool one_rests = false;
  for (const auto& [id, seq] : live_) {
    if (!is_idle(id) || seq.late) continue;
    require(!idle_long_enough(seq), text(id) + " has been idle for long, and a sequence waits");
    one_rests = true;
  }
  if (!nothing_planned) return;
  const auto wake = machine_.wake();
  require(wake.has_value() == (one_rests && settings_.within.idle_timeout != limits().idle_timeout),
          "a sequence waits for one that is idle, and the time is not known");
  require(!wake || *wake > now_, "it would be woken for nothing");
}

/// Only right where no plan before this one is in flight and no transfer: a slot is held until these have ended.
void world::check_account_without_forks() const {
  int held = 0;
  std::int64_t bytes = 0;
  for (const auto& [id, seq] : live_) {
    if (!seq.scheduled) continue;
    ++held;
    require(settings_.growing || machine_.reserved(id) == seq.capacity, text(id) + " has less than its memory");
    bytes += settings_.within.usage(machine_.reserved(id));
  }
  require(machine_.free_slots() == settings_.within.slots - held, "slots are lost, or given twice");
  require(machine_.memory_in_use() == bytes, "the memory account is wrong");
}

/// The transitions say of each sequence which slot it has.
void world::check_transitions() {
  std::erase_if(slots_, [&](const auto& entry) { return !live_.contains(entry.first); });
  while (const auto next = machine_.next_transition()) {
    require(live_.contains(next->sequence), "a transition is of a sequence that has gone");
    auto& [is, slot] = slots_.try_emplace(next->sequence, status::waiting, -1).first->second;
    require(next->previous == is, text(next->sequence) + " was in another state before its transition");
    require(next->current != is || next->slot != slot, text(next->sequence) + " has a transition that changes nothing");
    require(next->current != status::preempted || next->slot == slot, text(next->sequence) + " gave up another slot");
    is = next->current;
    slot = is == status::running ? next->slot : -1;
  }
  for (const auto& [id, seq] : live_) {
    const auto found = slots_.find(id);
    const int slot = machine_.slot_of(id);
    require(slot < 0 || (found != slots_.end() && found->second.second == slot),
            text(id) + " has another slot than its transitions said");
  }
}

void world::check_sequences() {
  machine_.verify();
  check_transitions();
  check_busy_slots();
  note_scheduled();
  look_at_shares();
  require(machine_.live() == static_cast<int>(live_.size()), "sequences are lost, or kept");
  for (const auto& [id, seq] : live_) {
    require(std::ranges::equal(machine_.tokens(id), seq.tokens), text(id) + " holds other tokens than it should");
    require(machine_.idle(id) != seq.running, text(id) + " is idle, or is not, against the contract");
    if (seq.running && !seq.may_run()) require(machine_.phase_of(id) == phase::paused, text(id) + " does not pause");
  }
}

/// What plans in flight read or fill is not free.
void world::check_busy_slots() const {
  std::set<int> busy;
  for (const auto& each : in_flight_) {
    for (const auto& row : each.step.rows) busy.insert(row.slot);
    for (const auto& cut : each.step.truncations) busy.insert(cut.slot);
    for (const auto& cut : each.step.releases) busy.insert(cut.slot);
    for (const auto& fork : each.step.forks) {
      busy.insert({fork.slot, fork.source});
      if (fork.shared > 0) busy.insert(fork.parent);
    }
    for (const auto& begun : each.step.swap_outs) busy.insert(begun.slot);
    for (const auto& begun : each.step.swap_ins) busy.insert(begun.slot);
  }
  require(machine_.free_slots() <= settings_.within.all_slots() - static_cast<int>(busy.size()),
          "a slot is free that a step in flight names");
}

void world::check_empty() {
  require(machine_.live() == 0 && machine_.waiting() == 0, "a sequence is left");
  require(machine_.free_slots() == settings_.within.slots, "not all slots are free in the end");
  require(machine_.memory_in_use() == 0, "memory is reserved for no sequence");
  require(runner_.cache().bytes() == 0, "the cache still holds something");
  require(runner_.cache().swapped_bytes() == 0 && machine_.swap_in_use() == 0,
          "something is swapped out for no sequence");
}

// What happened

void world::count_features(const step& step) {
  const auto visit_all = [&](feature reached, std::size_t times) {
    for (; times > 0; --times) seen_.visit(reached);
  };
  visit_all(feature::cleared, step.clears.size());
  visit_all(feature::truncated, step.truncations.size() + step.releases.size());
  for (const auto& each : step.forks) {
    if (each.shared > 0) seen_.visit(feature::shared_prefixes);
    if (each.copies()) seen_.visit(feature::copied);
  }
  visit_all(feature::checkpoint_taken, step.checkpoints.size());
  visit_all(feature::checkpoint_dropped, step.dropped_checkpoints.size());
  for (const auto& each : step.forks)
    if (runner_.cache().needs_checkpoint(each.source, each.end)) seen_.visit(feature::checkpoint_shared);
  for (const auto& each : step.truncations)
    if (runner_.cache().needs_checkpoint(each.slot, each.length)) seen_.visit(feature::checkpoint_returned);
  if (step.rows.empty()) seen_.visit(feature::plan_without_rows);
  for (const auto& each : step.rows)
    if (each.chained) seen_.visit(feature::chained);
  for (const auto& each : step.truncations)
    if (each.length < runner_.cache().shared(each.slot)) seen_.visit(feature::base_shrunk);
}

void world::describe_plan(const step& step) const {
  if (!log_) return;
  std::string line = step.empty() ? "nothing to do" : "step " + std::to_string(step.number) + ":";
  for (const auto name : step.drops) line += " drop " + text(name) + ";";
  for (const int slot : step.clears) line += " clear " + std::to_string(slot) + ";";
  for (const auto& each : step.truncations)
    line += " cut " + std::to_string(each.slot) + " to " + std::to_string(each.length) + ";";
  for (const auto& each : step.releases)
    line += " release " + std::to_string(each.slot) + " to " + std::to_string(each.length) + ";";
  for (const auto& each : step.forks)
    line += " " + std::to_string(each.slot) + " begins with " + std::to_string(each.end) + " of " +
            std::to_string(each.source) + ", of which it reads " + std::to_string(each.shared) + " in " +
            std::to_string(each.parent) + ";";
  for (const auto& each : step.dropped_checkpoints)
    line += " drop the checkpoint of " + std::to_string(each.slot) + " at " + std::to_string(each.length) + ";";
  for (const auto& each : step.checkpoints)
    line += " checkpoint of " + std::to_string(each.slot) + " at " + std::to_string(each.length) + ";";
  for (const auto& each : step.swap_outs)
    line += " swap out " + std::to_string(each.slot) + " as " + text(each.name) + ";";
  for (const auto& each : step.swap_ins)
    line += " restore " + text(each.name) + " to " + std::to_string(each.slot) + ";";
  for (const auto& each : step.rows)
    line += " [" + text(each.sequence) + " slot " + std::to_string(each.slot) + " x" + std::to_string(each.count) +
            (each.encoder_input ? " encoder input" : "") + (each.chained ? " chained" : "") +
            (each.wanted == output::sample ? " sample" : "") + "]";
  say(line);
}

}  // namespace cogen::scheduler::simulate
