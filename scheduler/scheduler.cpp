#include "growing.hpp"
#include "lateness.hpp"
#include "leaving.hpp"
#include "limits.hpp"
#include "machine.hpp"
#include "outcome.hpp"
#include "packing.hpp"
#include "saving.hpp"
#include "seating.hpp"
#include "sharing.hpp"
#include "verify.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

std::string name(sequence_id id) { return "sequence " + std::to_string(static_cast<std::uint64_t>(id)); }

template <class Sequences>
auto* find(Sequences& sequences, sequence_id id) {
  const auto found = sequences.find(id);
  return found == sequences.end() ? nullptr : &found->second;
}

template <class Sequences>
auto& known(Sequences& sequences, sequence_id id) {
  auto* const found = find(sequences, id);
  if (!found) throw std::out_of_range(name(id) + " is not known");
  return *found;
}

sequence& idle_one(machine& all, sequence_id id) {
  sequence& whose = known(all.sequences, id);
  if (whose.running) throw std::logic_error(name(id) + " is not idle");
  return whose;
}

void not_negative(const char* what, int value) {
  if (value < 0)
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) + "; it must be at least 0");
}

/// What a sequence may hold by its options.
int allowed_length(const machine& all, const sequence_options& options) {
  not_negative("max_length", options.max_length);
  not_negative("max_new_tokens", options.max_new_tokens);
  if (options.max_length > all.within.max_length)
    throw std::length_error("max_length is " + std::to_string(options.max_length) + "; the limit is " +
                            std::to_string(all.within.max_length));
  return options.max_length == 0 ? all.within.max_length : options.max_length;
}

/// A sequence that goes with its first run holds no more than that run brings.
int needed_length(const sequence_options& options, const run& first, int allowed) {
  if (!options.release_at_end) return allowed;
  const auto sampled = first.wanted == output::sample ? std::size_t(options.max_new_tokens) : 0;
  const auto needed = std::max<std::size_t>(1, first.tokens.size() + sampled);
  return static_cast<int>(std::min(needed, static_cast<std::size_t>(allowed)));
}

sequence made(const machine& all, const sequence_options& options, int capacity) {
  const auto bytes = all.within.usage(capacity);
  if (bytes > all.within.memory_bytes)
    throw std::length_error("a sequence of " + std::to_string(capacity) + " tokens takes " + std::to_string(bytes) +
                            " bytes; the budget is " + std::to_string(all.within.memory_bytes));
  sequence result;
  result.options = options;
  std::sort(result.options.end_tokens.begin(), result.options.end_tokens.end());
  result.capacity = capacity;
  return result;
}

sequence& taken_in(machine& all, sequence&& added) {
  added.id = sequence_id{++all.ids};
  sequence& whose = all.sequences.emplace(added.id, std::move(added)).first->second;
  try {
    all.queued.join(whose.options.tenant);
  } catch (...) {
    all.sequences.erase(whose.id);
    throw;
  }
  whose.nodes.name(&whose);
  return whose;
}

/// When something is asked for now. Before any time was told, at 0.
time asked_now(const machine& all) { return all.now == time::min() ? time() : all.now; }

/// The first of those absorbed: its memory is used again.
plan_in_flight& fresh_record(machine& all, std::uint64_t number) {
  if (all.absorbed.empty()) all.absorbed.emplace_back();
  auto& record = all.absorbed.front();
  record.number = number;
  record.rows.clear();
  record.tokens = 0;
  return record;
}

/// Throws too_late, and has changed nothing then.
void begin(machine& all, sequence& whose, run&& next) {
  const int cached = whose.cached;
  whose.begin(std::move(next), ++all.arrivals, asked_now(all));
  try {
    refuse_late(all, whose);
  } catch (...) {
    whose.undo();
    whose.end();
    whose.cached = cached;
    throw;
  }
  // Nobody else begins with what it runs again, and holds it up.
  if (whose.slot >= 0) all.known.cut(whose.slot, whose.cached);
}

}  // namespace

machine::machine(const limits& limits, std::unique_ptr<order> order, std::unique_ptr<victims> victims,
                 std::unique_ptr<reservation> reservation)
    : within(checked(limits)),
      policy(order ? std::move(order) : first_come()),
      leaves(victims ? std::move(victims) : longest_rested()),
      reserves(reservation ? std::move(reservation) : whole_length()),
      slots(within, reserves->high(within.memory_bytes)),
      spilled(within),
      known(within.all_slots()),
      queued(*policy) {}

scheduler::scheduler(const limits& limits, std::unique_ptr<order> order, std::unique_ptr<victims> victims,
                     std::unique_ptr<reservation> reserves)
    : machine_(std::make_unique<machine>(limits, std::move(order), std::move(victims), std::move(reserves))) {}

scheduler::~scheduler() = default;
scheduler::scheduler(scheduler&&) noexcept = default;

// Sequences

sequence_id scheduler::submit(const sequence_options& options, run first) {
  const int allowed = allowed_length(*machine_, options);
  auto added = made(*machine_, options, needed_length(options, first, allowed));
  added.check(first);
  begin(*machine_, added, std::move(first));
  sequence& whose = taken_in(*machine_, std::move(added));
  machine_->queued.place(whose);
  return whose.id;
}

sequence_id scheduler::submit(const sequence_options& options) {
  return taken_in(*machine_, made(*machine_, options, allowed_length(*machine_, options))).id;
}

sequence_id scheduler::resume(const sequence_options& options, past before) {
  auto added = made(*machine_, options, allowed_length(*machine_, options));
  give_past(added, std::move(before));
  sequence& whose = taken_in(*machine_, std::move(added));
  try {
    take_in_image(*machine_, whose);
  } catch (...) {
    forget(*machine_, whose);
    throw;
  }
  return whose.id;
}

sequence_id scheduler::fork(sequence_id id) {
  const sequence& parent = idle_one(*machine_, id);
  sequence copied;
  copied.options = parent.options;
  copied.capacity = parent.capacity;
  copied.tokens = parent.tokens;
  copied.sampled = parent.sampled;
  copied.exact = parent.exact;
  sequence& child = taken_in(*machine_, std::move(copied));
  try {
    seat_beside(*machine_, child, parent);
  } catch (...) {
    forget(*machine_, child);
    throw;
  }
  return child.id;
}

void scheduler::truncate(sequence_id id, int length) {
  sequence& whose = idle_one(*machine_, id);
  if (length < 0 || length > whose.length())
    throw std::invalid_argument(name(id) + " of " + std::to_string(whose.length()) + " tokens cannot be cut to " +
                                std::to_string(length));
  whose.keep(length);
  rest(*machine_, whose);
}

void scheduler::park(sequence_id id) {
  auto* const whose = find(machine_->sequences, id);
  if (whose && !whose->running && whose->slot >= 0 && !whose->in_transfer()) cogen::scheduler::park(*machine_, *whose);
}

std::optional<kept_image> scheduler::copy_out(sequence_id id) {
  auto* const whose = find(machine_->sequences, id);
  if (!whose || whose->running || whose->slot < 0 || whose->in_transfer()) return std::nullopt;
  return cogen::scheduler::copy_out(*machine_, *whose);
}

void scheduler::cancel(sequence_id id) {
  if (auto* whose = find(machine_->sequences, id)) forget(*machine_, *whose);
}

// Runs

void scheduler::start(sequence_id id, run next) {
  sequence& whose = idle_one(*machine_, id);
  whose.check(next);
  begin(*machine_, whose, std::move(next));
  machine_->queued.place(whose);
}

void scheduler::grant(sequence_id id, int credits) {
  not_negative("credits", credits);
  auto* const whose = find(machine_->sequences, id);
  if (!whose || !whose->running) return;
  whose->current.credits += credits;
  if (whose->where == phase::paused) machine_->queued.place(*whose);
}

void scheduler::abandon(sequence_id id) {
  auto* const whose = find(machine_->sequences, id);
  if (!whose || !whose->running) return;
  whose->undo();
  whose->end();
  rest(*machine_, *whose);
}

// Steps

void scheduler::pass(time now) { machine_->now = std::max(machine_->now, now); }

plan scheduler::next(time now) {
  plan made;
  next(now, made);
  return made;
}

void scheduler::next(time now, plan& into) {
  machine& all = *machine_;
  if (std::cmp_greater_equal(all.in_flight.size(), all.within.depth))
    throw std::logic_error(std::to_string(all.in_flight.size()) + " plans are unabsorbed, as many as there may be");
  pass(now);
  all.queued.see(all.now);
  into.clear();
  into.number = all.plans + 1;
  auto& record = fresh_record(all, into.number);
  bool lost = true;
  while (lost && into.rows.empty()) {
    all.slots.trim();
    grow(all);
    admit(all);
    join_leaders(all);
    lost = pack(all, into, record);
  }
  all.measured.planned(all.now, record.tokens, all.queued.left_behind(into.number));
  all.slots.settle(into);
  all.spilled.settle(into);
  if (into.empty()) return into.clear();
  ++all.plans;
  all.in_flight.splice(all.in_flight.end(), all.absorbed, all.absorbed.begin());
}

std::optional<time> scheduler::wake() const { return next_to_be_parked(*machine_); }

std::vector<event> scheduler::absorb(const plan& done, std::span<const row_result> results,
                                     std::chrono::nanoseconds took) {
  std::vector<event> events;
  absorb(done, results, took, events);
  return events;
}

void scheduler::absorb(const plan& done, std::span<const row_result> results, std::chrono::nanoseconds took,
                       std::vector<event>& events) {
  machine& all = *machine_;
  events.clear();
  if (done.empty()) return;
  if (all.in_flight.empty() || done.number != all.in_flight.front().number)
    throw std::logic_error("plan " + std::to_string(done.number) + " is not the oldest unabsorbed one");
  if (results.size() != all.in_flight.front().rows.size())
    throw std::invalid_argument("a plan of " + std::to_string(all.in_flight.front().rows.size()) + " rows came with " +
                                std::to_string(results.size()) + " results");
  all.absorbed.splice(all.absorbed.begin(), all.in_flight, all.in_flight.begin());
  const auto& record = all.absorbed.front();
  all.slots.absorbed(record.number);
  if (took.count() > 0 && record.tokens > 0) all.costs.took(record.tokens, took);
  take_in(all, record, results, events);
}

std::optional<sequence_id> scheduler::transferred(ticket name, bool ok) {
  machine& all = *machine_;
  const transfer ended = all.spilled.end(name, ok);
  all.slots.end_transfer(ended.slot, ended.restores && !ok);
  auto* const whose = find(all.sequences, ended.sequence);
  if (!whose || !whose->away || whose->away->name != name) return std::nullopt;
  arrive(all, *whose, ok);
  return whose->id;
}

void scheduler::forget_kept() {
  while (machine_->slots.evict()) {
  }
}

// Questions

std::span<const token> scheduler::tokens(sequence_id id) const { return known(machine_->sequences, id).tokens; }
bool scheduler::idle(sequence_id id) const { return !known(machine_->sequences, id).running; }
phase scheduler::phase_of(sequence_id id) const { return known(machine_->sequences, id).where; }
bool scheduler::seated(sequence_id id) const { return known(machine_->sequences, id).slot >= 0; }
bool scheduler::leaving(sequence_id id) const {
  const auto& away = known(machine_->sequences, id).away;
  return away && away->at == cogen::scheduler::away::stage::leaving;
}
bool scheduler::follows(sequence_id id) const { return known(machine_->sequences, id).follows.has_value(); }
int scheduler::reserved(sequence_id id) const {
  const sequence& whose = known(machine_->sequences, id);
  return whose.slot >= 0 ? whose.reserved : 0;
}
bool scheduler::short_of_memory(sequence_id id) const { return is_short(known(machine_->sequences, id)); }
int scheduler::reused(sequence_id id) const { return known(machine_->sequences, id).reused; }
std::uint64_t scheduler::reused() const { return machine_->reused; }
bool scheduler::moving(sequence_id id) const { return known(machine_->sequences, id).in_transfer(); }
bool scheduler::exact(sequence_id id) const { return known(machine_->sequences, id).exact; }
std::optional<kept_image> scheduler::stored(sequence_id id) const {
  const sequence& whose = known(machine_->sequences, id);
  return whose.cached > 0 && whose.away && !whose.in_transfer() ? std::optional(image_of(whose)) : std::nullopt;
}
int scheduler::slot_of(sequence_id id) const {
  const auto* const whose = find(machine_->sequences, id);
  return whose ? whose->slot : -1;
}
int scheduler::live() const { return static_cast<int>(machine_->sequences.size()); }
int scheduler::waiting() const { return machine_->queued.waiting.size(); }
std::uint64_t scheduler::parked() const { return machine_->parked; }
std::uint64_t scheduler::spilled() const { return machine_->spilled.spilled(); }
int scheduler::free_slots() const { return machine_->slots.free(); }
int scheduler::kept_slots() const { return machine_->slots.kept(); }
std::int64_t scheduler::kept_bytes() const { return machine_->slots.kept_bytes(); }
std::int64_t scheduler::memory_in_use() const { return machine_->slots.memory_in_use(); }
std::int64_t scheduler::spill_in_use() const { return machine_->spilled.in_use(); }
void scheduler::verify() const { cogen::scheduler::verify(*machine_); }

}  // namespace cogen::scheduler
